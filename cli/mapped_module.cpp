#include "cli/mapped_module.h"

#include <fmt/format.h>

namespace simrun::cli {

std::vector<MapsEntry> known_mappings(pid_t pid) {
  std::vector<MapsEntry> maps;
  read_maps_file(fmt::format("/proc/{}/maps", pid).c_str(), &maps);
  return maps;
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
