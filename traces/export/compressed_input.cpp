#include <lz4frame.h>
#include <lzma.h>

#include "base/compressed_ending.h"
#include "base/decompressors.h"
#include "base/user_error.h"
#include "traces/export/input_codec.h"

namespace simrun::traces {

namespace {

struct PlainInput final : CompressedInput::Codec {
  using Codec::Codec;
  size_t give(uint8_t* to, size_t most) override {
    const size_t got = std::fread(to, 1, most, file);
    if (got == 0 && std::ferror(file)) throw FormatError(fmt::format("cannot read: {}", std::strerror(errno)));
    return got;
  }
};

template <class Decompressor>
struct DecompressedInput final : CompressedInput::Codec {
  template <class... Arguments>
  explicit DecompressedInput(std::FILE* from, Arguments... arguments) : Codec(from), decompressor(arguments...) {}
  size_t give(uint8_t* to, size_t most) override {
    try {
      return decompressor.read(reinterpret_cast<char*>(to), most, [&] { return std::string_view(reinterpret_cast<const char*>(in.data()), get()); });
    } catch (const DecompressionError& error) {
      throw FormatError(error.what());
    }
  }
  Decompressor decompressor;
};

struct XzInput final : CompressedInput::Codec {
  explicit XzInput(std::FILE* from) : Codec(from) {
    constexpr uint64_t kMemory = uint64_t{512} << 20;
    if (lzma_stream_decoder(&stream, kMemory, LZMA_CONCATENATED) != LZMA_OK) throw UserError("cannot start the xz decoder");
  }
  ~XzInput() override { lzma_end(&stream); }
  size_t give(uint8_t* to, size_t most) override {
    stream.next_out = to;
    stream.avail_out = most;
    while (stream.avail_out == most && !ended) {
      if (stream.avail_in == 0 && !dry) {
        stream.next_in = in.data();
        stream.avail_in = get();
        dry = stream.avail_in == 0;
      }
      const lzma_ret result = lzma_code(&stream, dry ? LZMA_FINISH : LZMA_RUN);
      if (result == LZMA_STREAM_END) ended = true;
      else if (result != LZMA_OK) throw FormatError(fmt::format("damaged xz data ({})", static_cast<int>(result)));
    }
    return most - stream.avail_out;
  }
  lzma_stream stream = LZMA_STREAM_INIT;
  bool dry = false, ended = false;
};

struct Lz4 final : CompressedInput::Codec {
  explicit Lz4(std::FILE* from) : Codec(from) {
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) throw UserError("cannot start the lz4 decoder");
  }
  ~Lz4() override { LZ4F_freeDecompressionContext(context); }
  size_t give(uint8_t* to, size_t most) override {
    for (;;) {
      if (at == end) {
        at = 0;
        end = get();
        if (end == 0) {
          if (left != 0) throw FormatError("the lz4 data are cut off");
          return 0;
        }
      }
      size_t got = most;
      size_t taken = end - at;
      left = LZ4F_decompress(context, to, &got, in.data() + at, &taken, nullptr);
      if (LZ4F_isError(left)) throw FormatError(fmt::format("damaged lz4 data ({})", LZ4F_getErrorName(left)));
      at += taken;
      if (got != 0) return got;
    }
  }
  LZ4F_dctx* context = nullptr;
  size_t at = 0, end = 0;
  size_t left = 0;  // of a frame, about: 0 between two
};

// What is read first, for who will read the file from its begin; it may be a pipe. glibc and musl take back eight bytes that they have
// given out just now.
std::string first_bytes(std::FILE* file) {
  constexpr size_t kMost = 6;
  std::string first;
  for (int byte; first.size() < kMost && (byte = std::getc(file)) != EOF;) first.push_back(static_cast<char>(byte));
  for (size_t k = first.size(); k-- > 0;)
    if (std::ungetc(static_cast<unsigned char>(first[k]), file) == EOF) throw UserError("cannot read the begin of a file twice");
  return first;
}

// As its name says; where that promises nothing, as it begins.
std::string_view compression(const std::string& path, std::FILE* file) {
  for (const std::string_view ending : {".gz", ".xz", ".zst", ".lz4", ".zip", ".zlib"})
    if (path.ends_with(ending)) return ending;
  return compression_of(first_bytes(file));
}

}  // namespace

CompressedInput::CompressedInput(const std::string& path) : path_(path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) throw UserError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  const std::string_view by = compression(path, file);
  if (by == ".gz") codec_ = std::make_unique<DecompressedInput<GzipDecompressor>>(file);
  else if (by == ".xz") codec_ = std::make_unique<XzInput>(file);
  else if (by == ".zst") codec_ = std::make_unique<DecompressedInput<ZstdDecompressor>>(file);
  else if (by == ".lz4") codec_ = std::make_unique<Lz4>(file);
  else if (by == ".zip") codec_ = make_zip_codec(file);
  else if (by == ".zlib") codec_ = std::make_unique<DecompressedInput<GzipDecompressor>>(file, 15);
  else codec_ = std::make_unique<PlainInput>(file);
}

CompressedInput::~CompressedInput() = default;

size_t CompressedInput::fill() {
  constexpr size_t kBytes = 1 << 16;
  buffer_.resize(kBytes);
  at_ = 0;
  size_t got = 0;
  try {
    got = codec_->give(reinterpret_cast<uint8_t*>(buffer_.data()), kBytes);
  } catch (const FormatError& error) {
    throw TraceError(path_, offset_, error.what());
  }
  buffer_.resize(got);
  return got;
}

size_t CompressedInput::read(void* to, size_t most) {
  size_t done = 0;
  while (done < most && (at_ < buffer_.size() || fill() != 0)) {
    const size_t some = std::min(most - done, buffer_.size() - at_);
    std::memcpy(static_cast<char*>(to) + done, buffer_.data() + at_, some);
    at_ += some;
    done += some;
    offset_ += some;
  }
  return done;
}

bool CompressedInput::line(std::string* text) {
  constexpr size_t kLongest = 1 << 16;
  text->clear();
  while (at_ < buffer_.size() || fill() != 0) {
    const size_t end = buffer_.find('\n', at_);
    const size_t stop = end == std::string::npos ? buffer_.size() : end;
    text->append(buffer_, at_, stop - at_);
    offset_ += stop - at_ + (end != std::string::npos);
    at_ = stop + (end != std::string::npos);
    if (end != std::string::npos) return true;
    if (text->size() > kLongest) throw TraceError(path_, offset_, "a line of more than 64 KiB");
  }
  return !text->empty();
}

}  // namespace simrun::traces
