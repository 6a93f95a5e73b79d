// gzip's, zlib's and zstd's data, of any number of members in a row, from whoever has the bytes. Who includes this links the libraries.
#pragma once

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string_view>

namespace simrun {

struct DecompressionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class GzipDecompressor {
 public:
  // 15 + 16: gzip's; 15: zlib's.
  explicit GzipDecompressor(int window_bits = 15 + 16) {
    if (inflateInit2(&stream_, window_bits) != Z_OK) throw std::bad_alloc();
  }
  ~GzipDecompressor() { inflateEnd(&stream_); }
  GzipDecompressor(const GzipDecompressor&) = delete;
  GzipDecompressor& operator=(const GzipDecompressor&) = delete;

  // Up to `most` bytes; 0: the end. `next_input()`: more compressed bytes, which stay until it is called again; empty: there are no more.
  // Throws DecompressionError.
  template <typename NextInput>
  size_t read(char* to, size_t most, NextInput&& next_input) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(most);
    while (stream_.avail_out == most) {
      if (stream_.avail_in == 0) {
        const std::string_view input = next_input();
        if (input.empty() && within_) throw DecompressionError("the gzip data are cut off");
        if (input.empty()) return 0;
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
        stream_.avail_in = static_cast<uInt>(input.size());
      }
      if (!within_) inflateReset(&stream_);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END)
        throw DecompressionError(fmt::format("damaged gzip data ({})", stream_.msg != nullptr ? stream_.msg : "?"));
      within_ = status != Z_STREAM_END;
    }
    return most - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool within_ = false;   // a member that is not at its end
};

class ZstdDecompressor {
 public:
  ZstdDecompressor() : stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  ~ZstdDecompressor() { ZSTD_freeDStream(stream_); }
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;

  // As above.
  template <typename NextInput>
  size_t read(char* to, size_t most, NextInput&& next_input) {
    ZSTD_outBuffer out{to, most, 0};
    while (out.pos == 0) {
      if (in_.pos == in_.size) {
        const std::string_view input = next_input();
        if (input.empty() && left_ != 0) throw DecompressionError("the zstd data are cut off");
        if (input.empty()) return 0;
        in_ = {input.data(), input.size(), 0};
      }
      left_ = ZSTD_decompressStream(stream_, &out, &in_);
      if (ZSTD_isError(left_)) throw DecompressionError(fmt::format("damaged zstd data ({})", ZSTD_getErrorName(left_)));
    }
    return out.pos;
  }

 private:
  ZSTD_DStream* stream_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  size_t left_ = 0;   // of a frame, about: 0 between two
};

}  // namespace simrun
