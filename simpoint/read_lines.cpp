#include "simpoint/read_lines.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/compressed_ending.h"
#include "base/decompressors.h"
#include "base/user_error.h"

namespace simrun::simpoint {

namespace {

constexpr size_t kBuffer = 1 << 18;

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

size_t read_file(std::FILE* file, const std::string& path, char* to, size_t bytes) {
  const size_t got = std::fread(to, 1, bytes, file);
  if (got == 0 && std::ferror(file)) throw UserError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  return got;
}

class Plain final : public LineReader::Source {
 public:
  Plain(File file, std::string path, std::string first)
      : file_(std::move(file)), path_(std::move(path)), first_(std::move(first)) {}
  size_t read(char* to, size_t bytes) override {
    if (first_.empty()) return read_file(file_.get(), path_, to, bytes);
    const size_t got = std::min(bytes, first_.size());
    std::memcpy(to, first_.data(), got);
    first_.erase(0, got);
    return got;
  }

 private:
  File file_;
  std::string path_;
  std::string first_;  // bytes already taken from the file
};

template <class Decompressor>
class Decompressed final : public LineReader::Source {
 public:
  Decompressed(std::unique_ptr<Source> from, std::string path) : from_(std::move(from)), path_(std::move(path)) {}
  size_t read(char* to, size_t bytes) override {
    try {
      return decompressor_.read(to, bytes, [&] { return std::string_view(input_.data(), from_->read(input_.data(), input_.size())); });
    } catch (const DecompressionError& error) {
      throw UserError(fmt::format("{}: {}", path_, error.what()));
    }
  }

 private:
  std::unique_ptr<Source> from_;
  std::string path_;
  std::vector<char> input_ = std::vector<char>(kBuffer);
  Decompressor decompressor_;
};

std::unique_ptr<LineReader::Source> open(const std::string& path) {
  File file(path == "-" ? stdin : std::fopen(path.c_str(), "rbe"));
  if (!file) throw UserError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  std::string first(6, '\0');
  first.resize(read_file(file.get(), path, first.data(), first.size()));
  const std::string_view compression = compression_of(first);
  auto plain = std::make_unique<Plain>(std::move(file), path, std::move(first));
  if (compression == ".gz") return std::make_unique<Decompressed<GzipDecompressor>>(std::move(plain), path);
  if (compression == ".zst") return std::make_unique<Decompressed<ZstdDecompressor>>(std::move(plain), path);
  return plain;
}

}  // namespace

LineReader::LineReader(const std::string& path) : path_(path), source_(open(path)) {}
LineReader::~LineReader() = default;

bool LineReader::fill() {
  buffer_.erase(0, position_);
  position_ = 0;
  const size_t had = buffer_.size();
  buffer_.resize(had + kBuffer);
  size_t got = 0;
  try {
    got = source_->read(buffer_.data() + had, kBuffer);
  } catch (...) {
    buffer_.resize(had);
    throw;
  }
  buffer_.resize(had + got);
  return got != 0;
}

bool LineReader::next(std::string& line) {
  size_t searched = 0;
  for (;;) {
    const size_t end = buffer_.find('\n', position_ + searched);
    if (end != std::string::npos) {
      line.assign(buffer_, position_, end - position_);
      position_ = end + 1;
      ++line_number_;
      return true;
    }
    searched = buffer_.size() - position_;
    if (fill()) continue;
    if (position_ == buffer_.size()) return false;
    line.assign(buffer_, position_);
    position_ = buffer_.size();
    ++line_number_;
    terminated_ = false;
    return true;
  }
}

std::string read_whole(const std::string& path) {
  const std::unique_ptr<LineReader::Source> source = open(path);
  std::string all;
  for (size_t had = 0;; had = all.size()) {
    all.resize(had + kBuffer);
    const size_t got = source->read(all.data() + had, kBuffer);
    all.resize(had + got);
    if (got == 0) return all;
  }
}

void LineReader::fail(const std::string& what) const {
  throw UserError(fmt::format("{}:{}: {}", path_, line_number_, what));
}

}  // namespace simrun::simpoint
