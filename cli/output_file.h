// A result file: written without a name (base/unnamed_file.h; where that cannot be, under a temporary one beside its
// own), renamed when it is complete. Who reads results never sees half of one. `-` is standard output.
#pragma once

#include <string>

namespace simrun::cli {

class OutputFile {
 public:
  // Creates the temporary file at once, so that a path that cannot be written is found before the run. Throws
  // UserError.
  explicit OutputFile(std::string path);
  ~OutputFile();  // not committed: the temporary file goes
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Writes and renames. Throws UserError (disk full, say); then nothing of it stays.
  void commit(const std::string& contents);

 private:
  std::string path_, temporary_;
  int descriptor_;
  bool is_unnamed_ = false;  // so far
};

}  // namespace simrun::cli
