// A new file (base/new_file.h) that is written bit by bit, plain, gzip (.gz) or zstd (.zst) by its name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace simrun::simpoint {

class ByteWriter {
 public:
  // Throws UserError when it cannot be written, or its name promises another compression.
  static std::unique_ptr<ByteWriter> open(const std::string& path);
  virtual ~ByteWriter() = default;  // not finished: nothing of it stays

  // Throw UserError (disk full, say).
  virtual void write(std::string_view bytes) = 0;
  virtual void finish() = 0;  // all is on disk under its own name
};

// The same for a whole file at once.
void write_whole(const std::string& path, std::string_view contents);

}  // namespace simrun::simpoint
