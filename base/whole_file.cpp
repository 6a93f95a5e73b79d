#include "base/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace simrun {

int read_whole(const char* path, std::string* text) {
  text->clear();
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  constexpr size_t kStep = 1 << 16;
  size_t size = 0;
  ssize_t n = 0;
  do {
    text->resize(size + kStep);
    n = read(file, text->data() + size, kStep);
    if (n > 0) size += static_cast<size_t>(n);
  } while (n > 0 || (n < 0 && errno == EINTR));
  const int error = n < 0 ? errno : 0;
  text->resize(error == 0 ? size : 0);
  text->shrink_to_fit();   // it may be kept, as commands of thousands of processes are
  close(file);
  return error;
}

}  // namespace simrun
