// What decompresses for CompressedInput.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "traces/export/compressed_file.h"
#include "traces/trace_error.h"

namespace simrun::traces {

struct CompressedInput::Codec {
  explicit Codec(std::FILE* from) : file(from) {}
  virtual ~Codec() { std::fclose(file); }
  // Up to `most` decompressed bytes; 0 at the end. Throws FormatError.
  virtual size_t give(uint8_t* to, size_t most) = 0;

  size_t get() {
    const size_t got = std::fread(in.data(), 1, in.size(), file);
    if (got == 0 && std::ferror(file)) throw FormatError(fmt::format("cannot read: {}", std::strerror(errno)));
    return got;
  }
  std::FILE* file;
  std::vector<uint8_t> in = std::vector<uint8_t>(1 << 16);
};

// The members of a zip archive, one after the other.
std::unique_ptr<CompressedInput::Codec> make_zip_codec(std::FILE* file);

}  // namespace simrun::traces
