#include "instr/engine/codecache/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace simrun::engine {

RaisedFileSizeLimit::RaisedFileSizeLimit(uint64_t bytes) {
  getrlimit(RLIMIT_FSIZE, &before_);
  if (before_.rlim_cur >= bytes) return;
  const rlimit raised{bytes, std::max(before_.rlim_max, bytes)};
  is_raised_ = is_enough_ = setrlimit(RLIMIT_FSIZE, &raised) == 0;
}

RaisedFileSizeLimit::~RaisedFileSizeLimit() {
  if (is_raised_) setrlimit(RLIMIT_FSIZE, &before_);
}

int make_memory_file(const char* name, uint64_t bytes) {
  const RaisedFileSizeLimit limit(bytes);
  if (!limit.is_enough()) return errno = EFBIG, -1;
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) == 0) return fd;
  const int error = errno;
  close(fd);
  return errno = error, -1;
}

}  // namespace simrun::engine
