#include "sim/detail/line_table.h"

#include <algorithm>

namespace simrun::sim {

namespace {

// Backwards, here and for sites: of threads that run one after the other, as the children of a shell do, those that have
// ended come first.
uint32_t use_of(LineRecord& record, const Origin& origin) {
  for (auto i = static_cast<uint32_t>(record.threads.size()); i-- != 0;)
    if (record.threads[i].thread == origin.thread) return i;
  record.threads.push_back({});
  record.threads.back().thread = origin.thread;
  record.threads.back().process = origin.process;
  return static_cast<uint32_t>(record.threads.size() - 1);
}

uint32_t site_of(LineRecord& record, const Origin& origin, Access kind, uint32_t offset, uint32_t bytes) {
  for (auto i = static_cast<uint32_t>(record.sites.size()); i-- != 0;) {
    const Site& s = record.sites[i];
    if (s.kind != kind || s.origin.thread != origin.thread) continue;
    if (kind == Access::kFetch || (s.origin.pc == origin.pc && s.offset == offset && s.bytes == bytes)) return i;
  }
  record.sites.push_back({origin, static_cast<uint16_t>(offset), static_cast<uint16_t>(bytes), kind, 0, {}});
  return static_cast<uint32_t>(record.sites.size() - 1);
}

}  // namespace

LineTable::Place LineTable::add(LineRecord& record, const Origin& origin, Access kind, uint32_t offset, uint32_t bytes,
                                const ByteMask& mask) {
  if (kind == Access::kFetch || kind == Access::kPrefetch) {
    Place place{kNoSite, kNoSite};
    bool others = false;
    for (uint32_t i = 0; i < record.threads.size(); ++i) {
      if (record.threads[i].thread == origin.thread)
        place.thread = i;
      else
        others = true;
    }
    if (!others) return place;
    place.site = site_of(record, origin, kind, offset, bytes);
    ++record.sites[place.site].references;
    return place;
  }
  Place place{use_of(record, origin), kNoSite};
  ThreadUse& use = record.threads[place.thread];
  ++(is_write(kind) ? use.writes : use.reads);
  if (kind != Access::kStore) use.read_bytes |= mask;
  if (is_write(kind)) use.written_bytes |= mask;
  if (record.threads.size() > 1 || !record.sites.empty()) {
    place.site = site_of(record, origin, kind, offset, bytes);
    ++record.sites[place.site].references;
  }
  return place;
}

std::vector<const LineRecord*> LineTable::worst(size_t limit) const {
  std::vector<const LineRecord*> lines;
  for (const auto& [line, record] : records_)
    if (record.sharing.coherence_misses() + record.sharing.upgrades != 0) lines.push_back(&record);
  const auto is_worse = [](const LineRecord* a, const LineRecord* b) {
    const uint64_t misses_a = a->sharing.coherence_misses(), misses_b = b->sharing.coherence_misses();
    if (misses_a != misses_b) return misses_a > misses_b;
    if (a->sharing.upgrades != b->sharing.upgrades) return a->sharing.upgrades > b->sharing.upgrades;
    return a->line < b->line;
  };
  limit = std::min(limit, lines.size());
  std::partial_sort(lines.begin(), lines.begin() + static_cast<ptrdiff_t>(limit), lines.end(), is_worse);
  lines.resize(limit);
  return lines;
}

std::vector<const LineRecord*> LineTable::shared() const {
  std::vector<const LineRecord*> lines;
  for (const auto& [line, record] : records_) {
    const bool written =
        std::any_of(record.threads.begin(), record.threads.end(), [](const ThreadUse& u) { return u.writes != 0; });
    if (record.threads.size() > 1 && written) lines.push_back(&record);
  }
  std::sort(lines.begin(), lines.end(), [](const LineRecord* a, const LineRecord* b) { return a->line < b->line; });
  return lines;
}

}  // namespace simrun::sim
