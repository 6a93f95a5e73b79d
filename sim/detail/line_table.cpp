#include "sim/detail/line_table.h"

#include <algorithm>

namespace simrun::sim {

namespace {

constexpr size_t kFew = 16;   // are looked through; those behind them are in the tables

}  // namespace

size_t LineTable::Hash::operator()(const Key& key) const {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t hash = key.line * kOdd ^ key.thread;
  hash = (hash ^ hash >> 32) * kOdd ^ key.pc;
  hash = (hash ^ hash >> 32) * kOdd ^ (uint64_t{key.offset} << 32 | uint64_t{key.bytes} << 16 | static_cast<uint64_t>(key.kind));
  hash *= kOdd;
  return hash ^ hash >> 32;
}

template <class Entry, class Is>
uint32_t LineTable::find(const std::vector<Entry>& entries, const Table& others, const Key& key, Is is_it) {
  for (size_t i = 0; i < std::min(entries.size(), kFew); ++i)
    if (is_it(entries[i])) return static_cast<uint32_t>(i);
  if (entries.size() > kFew)
    if (const auto other = others.find(key); other != others.end()) return other->second;
  return static_cast<uint32_t>(entries.size());
}

uint32_t LineTable::find_use(const LineRecord& record, uint32_t thread) const {
  return find(record.threads, uses_, {record.line, 0, thread, 0, 0, Access::kLoad}, [&](const ThreadUse& u) { return u.thread == thread; });
}

uint32_t LineTable::use_of(LineRecord& record, const Origin& origin) {
  const uint32_t use = find_use(record, origin.thread);
  if (use < record.threads.size()) return use;
  record.threads.push_back({});
  record.threads.back().thread = origin.thread;
  record.threads.back().process = origin.process;
  if (use >= kFew) uses_.emplace(Key{record.line, 0, origin.thread, 0, 0, Access::kLoad}, use);
  return use;
}

uint32_t LineTable::site_of(LineRecord& record, const Origin& origin, Access kind, uint32_t offset, uint32_t bytes) {
  Key key{record.line, origin.pc, origin.thread, static_cast<uint16_t>(offset), static_cast<uint16_t>(bytes), kind};
  if (kind == Access::kFetch) key.pc = key.offset = key.bytes = 0;
  const uint32_t site = find(record.sites, sites_, key, [&](const Site& s) {
    if (s.kind != kind || s.origin.thread != origin.thread) return false;
    return kind == Access::kFetch || (s.origin.pc == origin.pc && s.offset == offset && s.bytes == bytes);
  });
  if (site < record.sites.size()) return site;
  record.sites.push_back({origin, static_cast<uint16_t>(offset), static_cast<uint16_t>(bytes), kind, 0, {}});
  if (site >= kFew) sites_.emplace(key, site);
  return site;
}

LineTable::Place LineTable::add(LineRecord& record, const Origin& origin, Access kind, uint32_t offset, uint32_t bytes, const ByteMask& mask) {
  if (kind == Access::kFetch || kind == Access::kPrefetch) {
    const uint32_t use = find_use(record, origin.thread);
    const bool is_used = use < record.threads.size();
    Place place{is_used ? use : kNoSite, kNoSite};
    if (record.threads.size() == (is_used ? 1 : 0)) return place;   // by nobody else
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
