#include "cli/phases/code_modules.h"

#include <cstdio>
#include <sstream>

#include "cli/process_maps.h"

namespace simrun::cli {

void CodeModules::look_at(pid_t pid) {
  if (!knows_all_) take(read_process_file(pid, "maps"));
}

void CodeModules::take(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    unsigned long long start = 0, end = 0, offset = 0;
    char permissions[8] = {};
    int path = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %7s %llx %*s %*s %n", &start, &end, permissions, &offset, &path) < 4)
      continue;
    if (permissions[2] != 'x' || path <= 0 || static_cast<size_t>(path) >= line.size()) continue;
    Range range{end, offset, line.substr(static_cast<size_t>(path))};
    if (range.path[0] != '/' && range.path != "[vdso]") continue;
    // A new mapping over an old one: what it covers is gone.
    auto at = ranges_.lower_bound(start);
    if (at != ranges_.begin() && std::prev(at)->second.end > start) std::prev(at)->second.end = start;
    while (at != ranges_.end() && at->first < end) at = ranges_.erase(at);
    ranges_.emplace(start, std::move(range));
    ++version_;
  }
}

simpoint::CodePlace CodeModules::place(uint64_t pc) const {
  const auto behind = ranges_.upper_bound(pc);
  if (behind == ranges_.begin()) return {pc, "", pc};
  const auto& [start, range] = *std::prev(behind);
  if (pc >= range.end) return {pc, "", pc};
  return {pc, range.path, pc - start + range.offset};
}

std::vector<uint64_t> CodeModules::addresses(const simpoint::CodePlace& place) const {
  if (place.module.empty()) return {place.pc};
  std::vector<uint64_t> found;
  for (const auto& [start, range] : ranges_)
    if (range.path == place.module && place.offset >= range.offset && place.offset - range.offset < range.end - start)
      found.push_back(start + (place.offset - range.offset));
  return found;
}

}  // namespace simrun::cli
