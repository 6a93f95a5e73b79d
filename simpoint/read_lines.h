// Lines of a text file, plain, gzip or zstd (told apart by their first bytes).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace simrun::simpoint {

class LineReader {
 public:
  // "-": standard input. Throws UserError when the file cannot be read.
  explicit LineReader(const std::string& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Without its newline. False: the end. Throws UserError when the compressed data are damaged or cut off, after the
  // last whole line before the damage.
  bool next(std::string& line);
  uint64_t line_number() const { return line_number_; }  // of the last line, from 1
  bool was_terminated() const { return terminated_; }    // the last line ended with a newline
  const std::string& path() const { return path_; }
  // `path:line: what`
  [[noreturn]] void fail(const std::string& what) const;

  // More bytes into `to`; 0: the end.
  class Source {
   public:
    virtual ~Source() = default;
    virtual size_t read(char* to, size_t bytes) = 0;
  };

 private:
  bool fill();

  std::string path_;
  std::unique_ptr<Source> source_;
  std::string buffer_;
  size_t position_ = 0;
  uint64_t line_number_ = 0;
  bool terminated_ = true;
};

// All bytes of such a file, decompressed. Throws UserError likewise.
std::string read_whole(const std::string& path);

}  // namespace simrun::simpoint
