// TraceError: a file that is not what its format demands (cut off, damaged, hostile, or of another version). The message
// has the file, the offset in bytes where the trouble lies, and the cause. Nothing behind it can be trusted.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace simrun::traces {

struct TraceError : std::runtime_error {
  TraceError(const std::string& file, uint64_t file_offset, const std::string& what)
      : std::runtime_error(fmt::format("{}: at offset {}: {}", file, file_offset, what)),
        offset(file_offset),
        cause(what) {}
  uint64_t offset;
  std::string cause;
};

// Thrown where the place in the file is not known; whoever knows it makes a TraceError of it.
struct FormatError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws FormatError.
inline void require(bool holds, const char* what) {
  if (!holds) throw FormatError(what);
}

}  // namespace simrun::traces
