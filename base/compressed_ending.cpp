#include "base/compressed_ending.h"

namespace simrun {

std::string_view compressed_ending(std::string_view path) {
  for (const std::string_view ending :
       {".gz", ".xz", ".zst", ".bz2", ".lz4", ".zip", ".7z", ".lzma", ".lz", ".lzo", ".br", ".rar", ".Z"})
    if (path.ends_with(ending)) return ending;
  return {};
}

}  // namespace simrun
