// Names of files that promise a compression. Writers that do not know it say so, instead of putting plain bytes under
// such a name.
#pragma once

#include <string_view>

namespace simrun {

// ".gz", ".xz", ".bz2", ...; empty when the name promises none.
std::string_view compressed_ending(std::string_view path);

}  // namespace simrun
