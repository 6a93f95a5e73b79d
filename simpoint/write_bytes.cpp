#include "simpoint/write_bytes.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <vector>

#include "base/compressed_ending.h"
#include "base/new_file.h"
#include "base/user_error.h"

namespace simrun::simpoint {

namespace {

constexpr size_t kOutputBuffer = 1 << 18;

class PlainWriter final : public ByteWriter {
 public:
  explicit PlainWriter(const std::string& path) : file_(path) {}
  void write(std::string_view bytes) override {
    buffer_.append(bytes);
    if (buffer_.size() >= kOutputBuffer) flush();
  }
  void finish() override {
    flush();
    file_.commit();
  }

 private:
  void flush() {
    file_.write(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

  NewFile file_;
  std::string buffer_;
};

class GzipWriter final : public ByteWriter {
 public:
  explicit GzipWriter(std::unique_ptr<ByteWriter> to) : to_(std::move(to)) {
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw UserError("no memory to compress");
  }
  ~GzipWriter() override { deflateEnd(&stream_); }
  void write(std::string_view bytes) override {
    constexpr size_t kMost = size_t{1} << 30;  // zlib counts in 32 bits
    for (; bytes.size() > kMost; bytes.remove_prefix(kMost)) run(bytes.substr(0, kMost), Z_NO_FLUSH);
    run(bytes, Z_NO_FLUSH);
  }
  void finish() override {
    run({}, Z_FINISH);
    to_->finish();
  }

 private:
  void run(std::string_view bytes, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
      stream_.avail_out = static_cast<uInt>(output_.size());
      // Z_BUF_ERROR: there is nothing to do (zlib.h).
      if (const int result = deflate(&stream_, flush); result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        throw UserError(fmt::format("cannot compress: zlib's error {}", result));
      to_->write({output_.data(), output_.size() - stream_.avail_out});
    } while (stream_.avail_out == 0);
  }
  std::unique_ptr<ByteWriter> to_;
  std::vector<char> output_ = std::vector<char>(kOutputBuffer);
  z_stream stream_{};
};

class ZstdWriter final : public ByteWriter {
 public:
  explicit ZstdWriter(std::unique_ptr<ByteWriter> to) : to_(std::move(to)), stream_(ZSTD_createCStream()) {
    ZSTD_CCtx_setParameter(stream_, ZSTD_c_checksumFlag, 1);
  }
  ~ZstdWriter() override { ZSTD_freeCStream(stream_); }
  void write(std::string_view bytes) override { run(bytes, ZSTD_e_continue); }
  void finish() override {
    run({}, ZSTD_e_end);
    to_->finish();
  }

 private:
  void run(std::string_view bytes, ZSTD_EndDirective mode) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    size_t left = 0;
    do {
      ZSTD_outBuffer out{output_.data(), output_.size(), 0};
      left = ZSTD_compressStream2(stream_, &out, &in, mode);
      if (ZSTD_isError(left)) throw UserError(fmt::format("zstd: {}", ZSTD_getErrorName(left)));
      to_->write({output_.data(), out.pos});
    } while (mode == ZSTD_e_end ? left != 0 : in.pos != in.size);
  }
  std::unique_ptr<ByteWriter> to_;
  ZSTD_CCtx* stream_;
  std::vector<char> output_ = std::vector<char>(kOutputBuffer);
};

}  // namespace

std::unique_ptr<ByteWriter> ByteWriter::open(const std::string& path) {
  const std::string_view ending = compressed_ending(path);
  if (!ending.empty() && ending != ".gz" && ending != ".zst")
    throw UserError(fmt::format("{}: {} is not written; .gz and .zst are, and what ends otherwise is not compressed",
                                path, ending),
                    2);
  auto plain = std::make_unique<PlainWriter>(path);
  if (path.ends_with(".gz")) return std::make_unique<GzipWriter>(std::move(plain));
  if (path.ends_with(".zst")) return std::make_unique<ZstdWriter>(std::move(plain));
  return plain;
}

void write_whole(const std::string& path, std::string_view contents) {
  const auto writer = ByteWriter::open(path);
  writer->write(contents);
  writer->finish();
}

}  // namespace simrun::simpoint
