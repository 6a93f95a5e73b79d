#include "base/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/unnamed_file.h"
#include "base/user_error.h"

namespace simrun {

namespace fs = std::filesystem;

OutputPlace follow_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel (include/linux/namei.h: MAXSYMLINKS)
  fs::path at = path;
  std::error_code error;
  const fs::path descriptors = fs::canonical("/proc/self/fd", error);
  for (int k = 0; k < kMostLinks; ++k) {
    const fs::path folder = fs::canonical(at.has_parent_path() ? at.parent_path() : ".", error);
    if (error) break;
    const std::string name = at.filename().string();
    int descriptor = -1;
    if (folder == descriptors && std::from_chars(name.data(), name.data() + name.size(), descriptor).ptr == name.data() + name.size())
      return {path, descriptor};
    if (!fs::is_symlink(fs::symlink_status(at, error))) break;
    const fs::path target = fs::read_symlink(at, error);
    if (error) break;
    at = target.is_absolute() ? target : folder / target;
  }
  return {at.string(), -1};
}

NewFile::NewFile(std::string path) : given_(std::move(path)), path_(given_) {
  // Close-on-exec: no program that is run inherits it.
  OutputPlace place{given_, STDOUT_FILENO};
  if (given_ != "-") place = follow_links(given_);
  path_ = place.path;
  if (place.descriptor >= 0) {
    descriptor_ = fcntl(place.descriptor, F_DUPFD_CLOEXEC, 3);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  struct stat existing {};
  const bool exists = stat(path_.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(existing.st_mode)) {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    temporary_ = path_ + ".tmp" + std::to_string(getpid());
    descriptor_ = open_unnamed(path_);
    is_unnamed_ = descriptor_ >= 0;
    if (!is_unnamed_) descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (descriptor_ < 0) fail(errno);
}

NewFile::~NewFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (!temporary_.empty() && !is_unnamed_) unlink(temporary_.c_str());
}

void NewFile::write(const char* bytes, size_t count) {
  while (count != 0) {
    const ssize_t written = ::write(descriptor_, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    bytes += written, count -= static_cast<size_t>(written);
  }
}

void NewFile::commit() {
  if (is_unnamed_ && !give_name(descriptor_, temporary_)) fail(errno);
  is_unnamed_ = false;
  int error = close(descriptor_) == 0 ? 0 : errno;  // where a network file system says that the disk is full
  descriptor_ = -1;
  if (temporary_.empty() && error == 0) return;
  if (error == 0 && rename(temporary_.c_str(), path_.c_str()) == 0) return;
  if (error == 0) error = errno;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  fail(error);
}

void NewFile::fail(int error) {
  throw UserError("cannot write " + (given_ == "-" ? "standard output" : given_) + ": " + std::strerror(error));
}

}  // namespace simrun
