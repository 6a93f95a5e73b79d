#include "base/unnamed_file.h"

#include <fcntl.h>
#include <unistd.h>

namespace simrun {

namespace {

std::string link_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

}  // namespace

int open_unnamed(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int made = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (made < 0 || access(link_of(made).c_str(), F_OK) == 0) return made;
  close(made);  // no /proc: it could not be named
  return -1;
}

bool give_name(int unnamed, const std::string& path) {
  unlink(path.c_str());
  return linkat(AT_FDCWD, link_of(unnamed).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

}  // namespace simrun
