// A result file: a new one (base/new_file.h), written at the end of a run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/new_file.h"

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
  // Throws UserError, as NewFile.
  explicit OutputFile(std::string path) : file_(std::move(path)) {}

  // Writes and takes its name. Throws UserError (disk full, say); then nothing of it stays.
  void commit(const std::string& contents) {
    file_.write(contents.data(), contents.size());
    file_.commit();
  }

 private:
  NewFile file_;
};

}  // namespace simrun::cli
