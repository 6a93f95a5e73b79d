#include "cli/phases/code_modules.h"

#include "cli/mapped_module.h"

namespace simrun::cli {

void CodeModules::look_at(pid_t pid) {
  if (!knows_all_) take(known_mappings(pid));
}

void CodeModules::take(const std::vector<MapsEntry>& entries) {
  for (const MapsEntry& e : entries) {
    if (!e.executable || (!e.path.starts_with('/') && e.path != "[vdso]")) continue;
    // A new mapping over an old one: what it covers is gone.
    auto at = ranges_.lower_bound(e.start);
    if (at != ranges_.begin() && std::prev(at)->second.end > e.start) std::prev(at)->second.end = e.start;
    while (at != ranges_.end() && at->first < e.end) at = ranges_.erase(at);
    ranges_.emplace(e.start, Range{e.end, e.offset, e.path});
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
