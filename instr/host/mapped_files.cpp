#include "instr/host/mapped_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstring>
#include <string>

#include "base/user_error.h"

namespace simrun::host {

std::vector<MapsEntry> read_process_maps(pid_t pid) {
  const std::string path = fmt::format("/proc/{}/maps", pid);
  std::vector<MapsEntry> entries;
  const int error = read_maps_file(path.c_str(), &entries);
  if (error == ESRCH) throw UserError(fmt::format("cannot read {}: the process has ended", path));
  if (error != 0) throw UserError(fmt::format("cannot read {}: {}", path, std::strerror(error)));
  return entries;
}

std::vector<border::MappedFile> mapped_files(pid_t pid) {
  std::vector<border::MappedFile> files;
  for (const MapsEntry& e : read_process_maps(pid)) {
    if (e.inode == 0) continue;
    border::MappedFile file{e.start, e.end, e.offset, makedev(e.major, e.minor), e.inode, e.shared};
    struct stat s {};
    if (e.path.starts_with('/') && stat(fmt::format("/proc/{}/root{}", pid, e.path).c_str(), &s) == 0 && s.st_ino == e.inode)
      file.device = s.st_dev;
    files.push_back(file);
  }
  return files;
}

}  // namespace simrun::host
