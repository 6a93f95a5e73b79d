#include "cli/process_maps.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace simrun::cli {

std::vector<MapsEntry> parse_process_maps(const std::string& text) {
  std::vector<MapsEntry> entries;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    MapsEntry e;
    char permissions[8] = {};
    int path = 0;
    unsigned long long start = 0, end = 0, offset = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %7s %llx %*s %*s %n", &start, &end, permissions, &offset, &path) < 4)
      continue;
    e.start = start, e.end = end, e.offset = offset;
    e.executable = permissions[2] == 'x';
    if (path > 0 && static_cast<size_t>(path) < line.size()) e.path = line.substr(static_cast<size_t>(path));
    entries.push_back(std::move(e));
  }
  return entries;
}

std::vector<MapsEntry> read_process_maps(pid_t pid) {
  return parse_process_maps(read_process_file(pid, "maps"));
}

std::string read_process_file(pid_t pid, const char* name) {
  const std::ifstream file(fmt::format("/proc/{}/{}", pid, name));
  std::ostringstream whole;
  whole << file.rdbuf();
  return whole.str();
}

MappedModule module_around(const std::vector<MapsEntry>& maps, uint64_t address) {
  MappedModule module;
  size_t at = 0;
  while (at < maps.size() && address >= maps[at].end) ++at;
  if (at == maps.size() || address < maps[at].start || !maps[at].path.starts_with("/")) return module;
  size_t first = at, last = at;
  while (first > 0 && maps[first - 1].path == maps[at].path && maps[first - 1].end == maps[first].start) --first;
  while (last + 1 < maps.size() && maps[last + 1].start == maps[last].end &&
         (maps[last + 1].path == maps[at].path || maps[last + 1].path.empty()))
    ++last;
  for (size_t k = first; k <= last; ++k) {
    if (!maps[k].executable || maps[k].path.empty()) continue;
    module.code_address = maps[k].start;
    module.code_offset = maps[k].offset;
    module.path = maps[at].path;
  }
  module.start = maps[first].start;
  module.end = maps[last].end;
  return module;
}

}  // namespace simrun::cli
