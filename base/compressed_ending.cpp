#include "base/compressed_ending.h"

namespace simrun {

std::string_view compressed_ending(std::string_view path) {
  for (const std::string_view ending :
       {".gz", ".xz", ".zst", ".bz2", ".lz4", ".zip", ".7z", ".lzma", ".lz", ".lzo", ".br", ".rar", ".Z"})
    if (path.ends_with(ending)) return ending;
  return {};
}

std::string_view compression_of(std::string_view first) {
  using namespace std::string_view_literals;
  // RFC 1952, 2.3.1: the method is 8, three bits of the flags are reserved. Many a binary format can begin with two bytes.
  if (first.starts_with("\x1f\x8b\x08"sv) && (first.size() < 4 || (first[3] & 0xe0) == 0)) return ".gz";
  if (first.starts_with("\xfd\x37zXZ\0"sv)) return ".xz";
  if (first.starts_with("\x28\xb5\x2f\xfd"sv)) return ".zst";
  if (first.starts_with("\x04\x22\x4d\x18"sv)) return ".lz4";
  if (first.starts_with("PK\x03\x04"sv)) return ".zip";
  return {};
}

}  // namespace simrun
