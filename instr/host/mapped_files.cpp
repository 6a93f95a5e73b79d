#include "instr/host/mapped_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace simrun::host {

std::vector<border::MappedFile> mapped_files(pid_t pid) {
  std::vector<border::MappedFile> files;
  std::ifstream lines(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(lines, line);) {
    unsigned long begin = 0, end = 0, offset = 0, number = 0;
    unsigned major = 0, minor = 0;
    char access[8] = {};
    int path = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %lx %x:%x %lu %n", &begin, &end, access, &offset, &major, &minor,
                    &number, &path) < 7)
      continue;
    if (number == 0) continue;
    border::MappedFile file{begin, end, offset, makedev(major, minor), number, access[3] == 's'};
    struct stat s {};
    if (line[static_cast<size_t>(path)] == '/' &&
        stat(fmt::format("/proc/{}/root{}", pid, line.substr(static_cast<size_t>(path))).c_str(), &s) == 0 &&
        s.st_ino == number)
      file.device = s.st_dev;
    files.push_back(file);
  }
  return files;
}

}  // namespace simrun::host
