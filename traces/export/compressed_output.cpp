#include <fmt/format.h>
#include <lzma.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/user_error.h"
#include "traces/export/compressed_file.h"

namespace simrun::traces {

// Takes bytes, gives compressed ones to `file`. end: the last bytes were given.
struct CompressedOutput::Codec {
  explicit Codec(std::FILE* to) : file(to) {}
  virtual ~Codec() {
    if (file != stdout) std::fclose(file);
  }
  virtual void take(std::string_view bytes, bool end) = 0;

  void put(const void* data, size_t size) {
    if (std::fwrite(data, 1, size, file) != size) throw UserError(fmt::format("cannot write: {}", std::strerror(errno)));
  }
  std::FILE* file;
  std::vector<uint8_t> out = std::vector<uint8_t>(1 << 16);
};

namespace {

struct Plain final : CompressedOutput::Codec {
  using Codec::Codec;
  void take(std::string_view bytes, bool) override { put(bytes.data(), bytes.size()); }
};

struct Gzip final : CompressedOutput::Codec {
  explicit Gzip(std::FILE* to) : Codec(to) {
    constexpr int kGzipFormat = 15 + 16;
    deflateInit2(&stream, 6, Z_DEFLATED, kGzipFormat, 8, Z_DEFAULT_STRATEGY);
  }
  ~Gzip() override { deflateEnd(&stream); }
  void take(std::string_view bytes, bool end) override {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream.next_out = out.data();
      stream.avail_out = static_cast<uInt>(out.size());
      deflate(&stream, end ? Z_FINISH : Z_NO_FLUSH);
      put(out.data(), out.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  z_stream stream{};
};

struct Xz final : CompressedOutput::Codec {
  explicit Xz(std::FILE* to) : Codec(to) {
    lzma_mt options{};
    options.threads = std::min(lzma_cputhreads(), 8u);
    options.preset = 6;
    options.check = LZMA_CHECK_CRC64;
    if (lzma_stream_encoder_mt(&stream, &options) != LZMA_OK) throw UserError("cannot start the xz encoder");
  }
  ~Xz() override { lzma_end(&stream); }
  void take(std::string_view bytes, bool end) override {
    stream.next_in = reinterpret_cast<const uint8_t*>(bytes.data());
    stream.avail_in = bytes.size();
    for (;;) {
      stream.next_out = out.data();
      stream.avail_out = out.size();
      const lzma_ret result = lzma_code(&stream, end ? LZMA_FINISH : LZMA_RUN);
      put(out.data(), out.size() - stream.avail_out);
      if (result == LZMA_STREAM_END) return;
      if (result != LZMA_OK) throw UserError(fmt::format("the xz encoder failed ({})", static_cast<int>(result)));
      if (!end && stream.avail_in == 0) return;
    }
  }
  lzma_stream stream = LZMA_STREAM_INIT;
};

struct Zstd final : CompressedOutput::Codec {
  explicit Zstd(std::FILE* to) : Codec(to) {}
  ~Zstd() override { ZSTD_freeCStream(stream); }
  void take(std::string_view bytes, bool end) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer to{out.data(), out.size(), 0};
      const size_t left = ZSTD_compressStream2(stream, &to, &in, end ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left)) throw UserError(fmt::format("the zstd encoder failed: {}", ZSTD_getErrorName(left)));
      put(to.dst, to.pos);
      if (end ? left == 0 : in.pos == in.size) return;
    }
  }
  ZSTD_CStream* stream = ZSTD_createCStream();
};

std::unique_ptr<CompressedOutput::Codec> make_codec(const std::string& path, std::FILE* file) {
  if (path.ends_with(".gz")) return std::make_unique<Gzip>(file);
  if (path.ends_with(".xz")) return std::make_unique<Xz>(file);
  if (path.ends_with(".zst")) return std::make_unique<Zstd>(file);
  return std::make_unique<Plain>(file);
}

}  // namespace

CompressedOutput::CompressedOutput(const std::string& path) : path_(path) {
  std::FILE* file = stdout;
  if (path != "-") {
    temporary_ = path + ".partial";
    file = std::fopen(temporary_.c_str(), "wb");
    if (file == nullptr) throw UserError(fmt::format("cannot write {}: {}", temporary_, std::strerror(errno)));
  }
  codec_ = make_codec(path, file);
}

CompressedOutput::~CompressedOutput() {
  codec_.reset();
  if (!finished_ && !temporary_.empty()) unlink(temporary_.c_str());
}

void CompressedOutput::write(std::string_view bytes) {
  constexpr size_t kPending = 256 << 10;
  pending_ += bytes;
  bytes_ += bytes.size();
  if (pending_.size() >= kPending) flush();
}

void CompressedOutput::flush() {
  try {
    codec_->take(pending_, false);
  } catch (const UserError& error) {
    throw UserError(fmt::format("{}: {}", path_, error.what()));
  }
  pending_.clear();
}

void CompressedOutput::finish() {
  flush();
  codec_->take({}, true);
  if (std::fflush(codec_->file) != 0) throw UserError(fmt::format("{}: cannot write: {}", path_, std::strerror(errno)));
  finished_ = true;
  if (!temporary_.empty() && std::rename(temporary_.c_str(), path_.c_str()) != 0)
    throw UserError(fmt::format("cannot complete {}: {}", path_, std::strerror(errno)));
}

}  // namespace simrun::traces
