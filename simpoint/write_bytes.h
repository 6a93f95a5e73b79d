// A file that is written bit by bit, plain, gzip (.gz) or zstd (.zst) by its name: under a temporary name beside its
// own, renamed when it is complete.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace simrun::simpoint {

class ByteWriter {
 public:
  // Creates the temporary file. Throws UserError when that fails. What exists and is no plain file (/dev/stdout, a
  // pipe) is written directly. Names that promise another compression are refused.
  static std::unique_ptr<ByteWriter> open(const std::string& path);
  virtual ~ByteWriter() = default;  // not finished: nothing of it stays

  // Throw UserError (disk full, say).
  virtual void write(std::string_view bytes) = 0;
  virtual void finish() = 0;  // all is on disk under its own name
};

// The same for a whole file at once.
void write_whole(const std::string& path, std::string_view contents);

}  // namespace simrun::simpoint
