// Names of files that promise a compression. Writers that do not know it say so, instead of putting plain bytes under
// such a name; readers of files with other names look at the first bytes.
#pragma once

#include <string_view>

namespace simrun {

// ".gz", ".xz", ".bz2", ...; empty when the name promises none.
std::string_view compressed_ending(std::string_view path);

// ".gz", ".xz", ".zst", ".lz4" or ".zip" by the first bytes of a file, six of them if there are so many; empty: none of these.
std::string_view compression_of(std::string_view first_bytes);

}  // namespace simrun
