// A file that is written and takes its name, and the place of an older one, when it is complete: without a name until then (unnamed_file.h;
// where that cannot be, under a temporary one beside its own). Who reads results never sees half of one.
//
// Symbolic links are followed: the file that they lead to is replaced. `-` is standard output; paths of this process's descriptors (/dev/stdout,
// /dev/fd/3) are those, and what is no plain file (a pipe, a device) is written in place.
#pragma once

#include <string>

namespace simrun {

class NewFile {
 public:
  // Opens it at once, so that a path that cannot be written is found early. Throws UserError.
  explicit NewFile(std::string path);
  ~NewFile();  // not committed: nothing of it stays
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Throws UserError, as does commit().
  void write(const char* bytes, size_t count);
  // All is written.
  void commit();

 private:
  [[noreturn]] void fail(int error);

  std::string given_, path_, temporary_;  // temporary_ empty: written in place
  int descriptor_ = -1;
  bool is_unnamed_ = false;  // so far
};

// Where a path for output leads by its symbolic links.
struct OutputPlace {
  std::string path;
  int descriptor = -1;  // of this process, if the path is one
};
OutputPlace follow_links(const std::string& path);

}  // namespace simrun
