// Memory files of the engine. The kernel applies the file-size limit of the application to them as well (RLIMIT_FSIZE, with SIGXFSZ).
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace simrun::engine {

// While it lives, files may have `bytes`, if the hard limit permits or may be raised. For all threads of the process: so not while the
// application runs in any.
class RaisedFileSizeLimit {
 public:
  explicit RaisedFileSizeLimit(uint64_t bytes);
  ~RaisedFileSizeLimit();
  RaisedFileSizeLimit(const RaisedFileSizeLimit&) = delete;
  RaisedFileSizeLimit& operator=(const RaisedFileSizeLimit&) = delete;

  bool is_enough() const { return is_enough_; }

 private:
  rlimit before_{};
  bool is_raised_ = false, is_enough_ = true;
};

// A memory file of `bytes`; -1, with errno, when there cannot be one.
int make_memory_file(const char* name, uint64_t bytes);

}  // namespace simrun::engine
