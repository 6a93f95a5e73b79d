#include "cli/phases/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/user_error.h"

namespace simrun::cli {

// By fcntl(2), not flock(2): forked processes that outlive this one do not have it, it says who has, and NFS knows it.
FolderLock::FolderLock(const std::string& folder) {
  const std::string file = fmt::format("{}/{}", folder, kFile);
  descriptor_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return;   // nothing can be written there: the first file that is needed says so
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(descriptor_, F_SETLK, &lock) == 0) return;
  const int why = errno;
  const bool is_known = fcntl(descriptor_, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0;
  if (why != EACCES && why != EAGAIN) return;   // a file system without locks
  close(descriptor_);
  throw UserError(fmt::format("{}: another simrun pinpoints works in this folder{}: wait until it ends, or give another folder", folder,
                              is_known ? fmt::format(" (process {})", lock.l_pid) : ""));
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace simrun::cli
