#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/unnamed_file.h"
#include "base/user_error.h"

namespace simrun::cli {

namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw UserError(fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

// Also of files that do not exist. A device (/dev/null, a pipe) may be given several times.
bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (std::filesystem::exists(a, error) && !std::filesystem::is_regular_file(a, error)) return false;
  if (std::filesystem::equivalent(a, b, error)) return true;
  return std::filesystem::weakly_canonical(a, error) == std::filesystem::weakly_canonical(b, error);
}

}  // namespace

void refuse_same_file(const std::vector<NamedFile>& files) {
  for (size_t i = 0; i < files.size(); ++i)
    for (size_t j = i + 1; j < files.size(); ++j)
      if (!files[i].path.empty() && !files[j].path.empty() && is_same_file(files[i].path, files[j].path))
        throw UserError(fmt::format("{} and {} are the same file: {}", files[i].option, files[j].option, files[j].path), 2);
}

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), temporary_(fmt::format("{}.tmp{}", path_, getpid())), descriptor_(-1) {
  if (path_ == "-") {
    temporary_ = path_;
    descriptor_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (descriptor_ < 0) fail("standard output", errno);
    return;
  }
  struct stat existing {};
  if (stat(path_.c_str(), &existing) == 0) {
    if (S_ISDIR(existing.st_mode)) fail(path_, EISDIR);
    if (!S_ISREG(existing.st_mode)) temporary_ = path_;  // /dev/stdout, a pipe: nothing to rename
  }
  // Close-on-exec: the program must not inherit it.
  if (temporary_ != path_) descriptor_ = open_unnamed(path_);
  is_unnamed_ = descriptor_ >= 0;
  if (!is_unnamed_)
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CLOEXEC | (temporary_ == path_ ? 0 : O_CREAT | O_TRUNC), 0666);
  if (descriptor_ < 0) fail(path_, errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (temporary_ != path_ && !is_unnamed_) unlink(temporary_.c_str());
}

void OutputFile::commit(const std::string& contents) {
  for (std::string_view left = contents; !left.empty();) {
    const ssize_t written = write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_, errno);
    left.remove_prefix(static_cast<size_t>(written));
  }
  if (is_unnamed_ && !give_name(descriptor_, temporary_)) fail(path_, errno);
  is_unnamed_ = false;
  if (close(descriptor_) != 0) {  // where a network file system says that the disk is full
    const int error = errno;
    descriptor_ = -1;
    if (temporary_ != path_) unlink(temporary_.c_str());
    fail(path_, error);
  }
  descriptor_ = -1;
  if (temporary_ == path_ || rename(temporary_.c_str(), path_.c_str()) == 0) return;
  const int error = errno;
  unlink(temporary_.c_str());
  fail(path_, error);
}

}  // namespace simrun::cli
