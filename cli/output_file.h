// A result file: written without a name (base/unnamed_file.h; where that cannot be, under a temporary one beside its
// own), renamed when it is complete. Who reads results never sees half of one. `-` is standard output.
#pragma once

#include <string>
#include <vector>

namespace simrun::cli {

// What options name: files that are read or written.
struct NamedFile {
  const char* option;
  std::string path;  // empty: not given
};
// Throws UserError with exit status 2 when two are the same: one would take the other's place.
void refuse_same_file(const std::vector<NamedFile>& files);

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
