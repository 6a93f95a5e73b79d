// A result file: a new one (base/new_file.h), written at the end of a run.
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "base/new_file.h"
#include "base/user_error.h"

namespace simrun::cli {

// What options name: files that are read or written.
struct NamedFile {
  const char* option;
  std::string path;  // empty: not given
};
// Throws UserError with exit status 2 when two are the same: one would take the other's place.
void refuse_same_file(const std::vector<NamedFile>& files);

// The program that is run, so that no result takes its place.
NamedFile program_itself(const std::vector<std::string>& command);

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

// Results are written before a report is printed, whose reader may have gone (SIGPIPE); one that cannot be written does not keep the
// report from being printed. Throws what `write` does.
template <class Write, class Print>
void write_then_print(Write write, Print print) {
  std::exception_ptr failure;
  try {
    write();
  } catch (const UserError&) {
    failure = std::current_exception();
  }
  print();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace simrun::cli
