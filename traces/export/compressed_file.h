// A file that is written, or read, through the compression that its name's ending says: .gz, .xz, .zst (read also: .lz4,
// .zlib, .zip: all members in a row), else none; when read, else that with which the file begins. Written under a temporary name and renamed when complete.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/new_file.h"

namespace simrun::traces {

class CompressedOutput {
 public:
  // "-": standard output, uncompressed. `level`: none is xz 6, gzip 6, zstd 3. Throws UserError.
  explicit CompressedOutput(const std::string& path, std::optional<int> level = {});
  ~CompressedOutput();  // not finished: nothing of it stays
  CompressedOutput(const CompressedOutput&) = delete;
  CompressedOutput& operator=(const CompressedOutput&) = delete;

  void write(std::string_view bytes);  // throws UserError (disk full, say)
  void finish();                       // likewise
  uint64_t bytes() const { return bytes_; }  // before compression

  struct Codec;

 private:
  void flush();

  std::unique_ptr<NewFile> file_;
  std::unique_ptr<Codec> codec_;
  std::string pending_;
  uint64_t bytes_ = 0;
};

class CompressedInput {
 public:
  explicit CompressedInput(const std::string& path);  // throws UserError
  ~CompressedInput();
  CompressedInput(const CompressedInput&) = delete;
  CompressedInput& operator=(const CompressedInput&) = delete;

  // Up to `most` bytes; 0 at the end. Throws TraceError for damaged data, with the offset in the decompressed data.
  size_t read(void* to, size_t most);
  // A line without its end; false at the end of the file.
  bool line(std::string* text);
  const std::string& path() const { return path_; }
  uint64_t offset() const { return offset_; }  // decompressed bytes handed out

  struct Codec;

 private:
  size_t fill();

  std::string path_;
  std::unique_ptr<Codec> codec_;
  std::string buffer_;
  size_t at_ = 0;
  uint64_t offset_ = 0;
};

}  // namespace simrun::traces
