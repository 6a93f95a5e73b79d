#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/compressed_ending.h"
#include "base/new_file.h"
#include "base/user_error.h"
#include "traces/export/compressed_file.h"

namespace simrun::traces {

// Takes bytes, gives compressed ones to `file`. end: the last bytes were given.
struct CompressedOutput::Codec {
  explicit Codec(NewFile& to) : file(to) {}
  virtual ~Codec() = default;
  virtual void take(std::string_view bytes, bool end) = 0;

  void put(const void* data, size_t size) { file.write(static_cast<const char*>(data), size); }
  NewFile& file;
  std::vector<uint8_t> out = std::vector<uint8_t>(1 << 16);
};

namespace {

struct PlainOutput final : CompressedOutput::Codec {
  using Codec::Codec;
  void take(std::string_view bytes, bool) override { put(bytes.data(), bytes.size()); }
};

struct GzipOutput final : CompressedOutput::Codec {
  GzipOutput(NewFile& to, int level) : Codec(to) {
    constexpr int kGzipFormat = 15 + 16;
    deflateInit2(&stream, level, Z_DEFLATED, kGzipFormat, 8, Z_DEFAULT_STRATEGY);
  }
  ~GzipOutput() override { deflateEnd(&stream); }
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

struct XzOutput final : CompressedOutput::Codec {
  XzOutput(NewFile& to, int level) : Codec(to) {
    lzma_mt options{};
    options.threads = std::min(lzma_cputhreads(), 8u);
    options.preset = static_cast<uint32_t>(level);
    options.check = LZMA_CHECK_CRC64;
    if (lzma_stream_encoder_mt(&stream, &options) != LZMA_OK) throw UserError("cannot start the xz encoder");
  }
  ~XzOutput() override { lzma_end(&stream); }
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

struct ZstdOutput final : CompressedOutput::Codec {
  ZstdOutput(NewFile& to, int level) : Codec(to) { ZSTD_CCtx_setParameter(stream, ZSTD_c_compressionLevel, level); }
  ~ZstdOutput() override { ZSTD_freeCStream(stream); }
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

std::unique_ptr<CompressedOutput::Codec> make_codec(const std::string& path, NewFile& file, int level) {
  if (path.ends_with(".gz")) return std::make_unique<GzipOutput>(file, level);
  if (path.ends_with(".xz")) return std::make_unique<XzOutput>(file, level);
  if (path.ends_with(".zst")) return std::make_unique<ZstdOutput>(file, level);
  return std::make_unique<PlainOutput>(file);
}

}  // namespace

CompressedOutput::CompressedOutput(const std::string& path, std::optional<int> level) {
  check_ending(path);
  const int checked = level_for(path, level);
  file_ = std::make_unique<NewFile>(path);
  codec_ = make_codec(path, *file_, checked);
}

CompressedOutput::~CompressedOutput() = default;

void CompressedOutput::write(std::string_view bytes) {
  constexpr size_t kPending = 256 << 10;
  pending_ += bytes;
  bytes_ += bytes.size();
  if (pending_.size() >= kPending) flush();
}

void CompressedOutput::flush() {
  codec_->take(pending_, false);
  pending_.clear();
}

void CompressedOutput::finish() {
  flush();
  codec_->take({}, true);
  file_->commit();
}

}  // namespace simrun::traces
