// The views of files of /proc (process_files.h) that the application has open, as far as is known.
#pragma once

#include <sys/stat.h>
#include <sys/statfs.h>

#include <cstdint>
#include <string>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// What the kernel says of a file.
struct FileFacts {
  struct stat status;
  struct statx extended;
  struct statfs file_system;
};
// Of an open descriptor; zeros where the kernel refuses.
FileFacts facts_of(int64_t fd);

// The kernel makes the text at the first read, not at the open.
struct OpenView {
  uint64_t device, inode;   // of the memory file
  std::string path, text;
  FileFacts original;       // of the file that it stands for
};

bool has_views();
void remember_view(int64_t fd, std::string path, std::string text, const FileFacts& original);
// The view that `fd` is, if it is one and nothing of it has been read yet.
bool find_unread_view(int64_t fd, OpenView& view);
void change_text(int64_t fd, std::string text);

// Calls that the file in /proc refuses and its view would not; false: another call. `arguments`: all six.
bool answer_view_call(uint64_t number, const uint64_t* arguments, int64_t& result);
// After any call that was made: what it told of a view (fstat and its kin, readlink) is that of the file in /proc.
void after_view_call(ThreadContext* context, uint64_t number, const uint64_t* arguments);

}  // namespace simrun::engine
