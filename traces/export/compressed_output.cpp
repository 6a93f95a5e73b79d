#include <fmt/format.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/compressed_ending.h"
#include "base/unnamed_file.h"
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
  Gzip(std::FILE* to, int level) : Codec(to) {
    constexpr int kGzipFormat = 15 + 16;
    deflateInit2(&stream, level, Z_DEFLATED, kGzipFormat, 8, Z_DEFAULT_STRATEGY);
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
  Xz(std::FILE* to, int level) : Codec(to) {
    lzma_mt options{};
    options.threads = std::min(lzma_cputhreads(), 8u);
    options.preset = static_cast<uint32_t>(level);
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
  Zstd(std::FILE* to, int level) : Codec(to) { ZSTD_CCtx_setParameter(stream, ZSTD_c_compressionLevel, level); }
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

struct Levels {
  std::string_view ending;
  int usual, least, most;
};
constexpr Levels kLevels[] = {{".gz", 6, 1, 9}, {".xz", 6, 0, 9}, {".zst", 3, 1, 19}};

// Plain bytes under a name that promises a compression mislead whoever goes by the name (ChampSim does).
void check_ending(const std::string& path) {
  const std::string_view ending = compressed_ending(path);
  const auto is_ours = [&](const Levels& l) { return l.ending == ending; };
  if (!ending.empty() && std::none_of(std::begin(kLevels), std::end(kLevels), is_ours))
    throw UserError(fmt::format("{}: {} is not written; .gz, .xz and .zst are, and what ends otherwise is not compressed",
                                path, ending),
                    2);
}

int level_for(const std::string& path, std::optional<int> wanted) {
  for (const Levels& l : kLevels) {
    if (!path.ends_with(l.ending)) continue;
    if (wanted && (*wanted < l.least || *wanted > l.most))
      throw UserError(fmt::format("{}: {} has levels {} to {}, not {}", path, l.ending, l.least, l.most, *wanted), 2);
    return wanted.value_or(l.usual);
  }
  if (wanted) throw UserError(fmt::format("{} is not compressed (.gz, .xz, .zst are): it has no level", path), 2);
  return 0;
}

std::unique_ptr<CompressedOutput::Codec> make_codec(const std::string& path, std::FILE* file, int level) {
  if (path.ends_with(".gz")) return std::make_unique<Gzip>(file, level);
  if (path.ends_with(".xz")) return std::make_unique<Xz>(file, level);
  if (path.ends_with(".zst")) return std::make_unique<Zstd>(file, level);
  return std::make_unique<Plain>(file);
}

}  // namespace

CompressedOutput::CompressedOutput(const std::string& path, std::optional<int> level) : path_(path) {
  check_ending(path);
  const int checked = level_for(path, level);
  std::FILE* file = stdout;
  if (path != "-") {
    struct stat existing {};
    const bool in_place = stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode);  // a pipe: nothing to rename
    if (!in_place) temporary_ = path + ".partial";
    const int unnamed = in_place ? -1 : open_unnamed(path);
    is_unnamed_ = unnamed >= 0;
    file = is_unnamed_ ? fdopen(unnamed, "wb") : std::fopen((in_place ? path : temporary_).c_str(), "wb");
    if (file == nullptr) throw UserError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
  codec_ = make_codec(path, file, checked);
}

CompressedOutput::~CompressedOutput() {
  codec_.reset();
  if (!finished_ && !temporary_.empty() && !is_unnamed_) unlink(temporary_.c_str());
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
  if (is_unnamed_ && !give_name(fileno(codec_->file), temporary_))
    throw UserError(fmt::format("cannot complete {}: {}", path_, std::strerror(errno)));
  finished_ = true;
  if (!temporary_.empty() && std::rename(temporary_.c_str(), path_.c_str()) != 0)
    throw UserError(fmt::format("cannot complete {}: {}", path_, std::strerror(errno)));
}

}  // namespace simrun::traces
