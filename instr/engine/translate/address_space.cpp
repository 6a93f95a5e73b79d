#include "instr/engine/translate/address_space.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "base/process_maps.h"
#include "instr/engine/context/engine_memory.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/translate/stable_pages.h"

namespace simrun::engine {
namespace {

struct Mapping {
  uint64_t end;
  bool executable, writable, shared;
  bool stack = false;          // grows downwards: not data to RLIMIT_DATA
  bool file_changes = false;   // private, of a file that is open for writing: a write to it shows in pages not written to

  bool like(const Mapping& other) const {
    return executable == other.executable && writable == other.writable && shared == other.shared && stack == other.stack &&
           file_changes == other.file_changes;
  }
  bool data() const { return writable && !shared && !stack; }
};

constexpr uint64_t kUserEnd = 1ull << 63;   // the vsyscall page, above it, counts for nobody

using Mappings = std::map<uint64_t, Mapping>;   // by start; they do not overlap
Mappings g_mappings;
MappedBytes g_mapped;                           // of all: asked for at each call where memory is limited

void count(uint64_t from, const Mapping& m) {
  if (from >= kUserEnd) return;
  g_mapped.all += m.end - from;
  if (m.data()) g_mapped.data += m.end - from;
}

void count_no_more(uint64_t from, const Mapping& m) {
  if (from >= kUserEnd) return;
  g_mapped.all -= m.end - from;
  if (m.data()) g_mapped.data -= m.end - from;
}

// The mapping that holds `address`, or end().
Mappings::iterator find(uint64_t address) {
  auto after = g_mappings.upper_bound(address);
  if (after == g_mappings.begin()) return g_mappings.end();
  --after;
  return address < after->second.end ? after : g_mappings.end();
}

constexpr uint64_t kPage = 4096;

// Whether all pages from one to the other are mapped. Asks without touching them, which would make a stack grow, and without a descriptor.
bool is_mapped(uint64_t from, uint64_t to) {
  constexpr uint64_t kPages = 1024;
  unsigned char resident[kPages];
  for (; from < to; from += kPages * kPage) {
    const uint64_t bytes = std::min(to - from, kPages * kPage);
    if (raw_syscall(SYS_mincore, from, bytes, word(resident)) != 0) return false;
  }
  return true;
}

// The mapping that holds `address`, or end(). A stack grows without a call: what lies below one, and nobody has mapped, is its.
Mappings::iterator find_grown(uint64_t address) {
  const auto known = find(address);
  if (known != g_mappings.end()) return known;
  const auto above = g_mappings.upper_bound(address);
  const uint64_t page = address & ~(kPage - 1);
  if (above == g_mappings.end() || !above->second.stack || !is_mapped(page, above->first)) return g_mappings.end();
  const Mapping whole = above->second;
  count_no_more(above->first, whole);
  g_mappings.erase(above);
  count(page, whole);
  return g_mappings.emplace(page, whole).first;
}

// Makes `at` a border between mappings if one spans it.
void split(uint64_t at) {
  const auto m = find(at);
  if (m == g_mappings.end() || m->first == at) return;
  Mapping upper = m->second;
  m->second.end = at;
  g_mappings.emplace(at, upper);
}

void remove(uint64_t from, uint64_t to) {
  split(from);
  split(to);
  const auto first = g_mappings.lower_bound(from), last = g_mappings.lower_bound(to);
  for (auto m = first; m != last; ++m) count_no_more(m->first, m->second);
  g_mappings.erase(first, last);
}

// Neighbours alike are one: many small mappings stay cheap.
void join(uint64_t border) {
  const auto above = g_mappings.find(border);
  if (above == g_mappings.end() || above == g_mappings.begin()) return;
  const auto below = std::prev(above);
  if (below->second.end != border || !below->second.like(above->second)) return;
  below->second.end = above->second.end;
  g_mappings.erase(above);
}

void add(uint64_t from, const Mapping& m) {
  remove(from, m.end);
  count(from, m);
  g_mappings.emplace(from, m);
  join(m.end);
  join(from);
}

constexpr char kMaps[] = "/proc/thread-self/maps";   // "self" has no memory once the first thread has ended

void add_entry(const MapsEntry& e) {
  // The vsyscall page is not read here (syscalls/vsyscall.cpp).
  const bool user = e.start < kUserEnd;
  add(e.start, {e.end, user && e.executable, e.writable, e.shared, e.path == "[stack]"});
  // The kernel may show a mapping of the engine's as one with a neighbour of the application's.
  border::AddressRange part;
  for (uint64_t at = e.start; at < e.end && find_engine_memory(at, e.end, part); at = part.base + part.bytes)
    remove(part.base, part.base + part.bytes);
}

}  // namespace

int read_address_space() {
  std::vector<MapsEntry> entries;
  const int error = read_maps_file(kMaps, &entries);
  g_mappings.clear();
  g_mapped = {};
  for (const MapsEntry& e : entries) add_entry(e);
  return error;
}

bool is_executable_after_all(AppAddress pc) {
  if (executable_bytes(pc, 1) != 0) return false;
  std::vector<MapsEntry> entries;
  if (read_maps_file(kMaps, &entries) != 0) return false;
  for (const MapsEntry& e : entries)
    if (e.start <= raw(pc) && raw(pc) < e.end && e.executable) add_entry(e);
  return executable_bytes(pc, 1) != 0;
}

// A line of the kernel's can be partly the application's: neighbours of a kind are shown as one.
int note_engine_mappings(const border::AddressRange* application, uint32_t count) {
  std::vector<MapsEntry> entries;
  const int error = read_maps_file(kMaps, &entries);
  for (const MapsEntry& e : entries) {
    const bool data = e.writable && !e.shared;
    const EngineMemory kind = e.executable ? EngineMemory::kCode : data ? EngineMemory::kData : EngineMemory::kOther;
    const auto* own = std::upper_bound(application, application + count, e.start,
                                       [](uint64_t at, const border::AddressRange& r) { return at < r.base + r.bytes; });
    for (uint64_t at = e.start; at < e.end; ++own) {
      const bool last = own == application + count || own->base >= e.end;
      const uint64_t end = last ? e.end : own->base;
      if (at < end) note_engine_memory(at, end - at, kind);
      if (last) break;
      at = own->base + own->bytes;
    }
  }
  return error;
}

MappedBytes mapped_bytes_in(AppAddress from, AppAddress to) {
  MappedBytes result{0, 0};
  auto m = g_mappings.upper_bound(raw(from));
  if (m != g_mappings.begin()) --m;
  for (; m != g_mappings.end() && m->first < raw(to); ++m) {
    const uint64_t low = std::max(m->first, raw(from)), high = std::min(m->second.end, raw(to));
    if (low >= high) continue;
    result.all += high - low;
    if (m->second.data()) result.data += high - low;
    if (!m->second.writable && !m->second.shared && !m->second.stack) result.not_yet_data += high - low;
  }
  return result;
}

std::vector<border::AddressRange> application_ranges() {
  std::vector<border::AddressRange> ranges;
  for (const auto& [from, m] : g_mappings) ranges.push_back({from, m.end - from});
  return ranges;
}

MappedBytes mapped_bytes() { return g_mapped; }

uint32_t executable_bytes(AppAddress pc, uint32_t wanted) {
  auto m = find_grown(raw(pc));
  uint64_t end = raw(pc);
  for (; m != g_mappings.end() && m->second.executable && end < raw(pc) + wanted && m->first <= end; ++m) end = m->second.end;
  const uint64_t available = end - raw(pc);
  return available < wanted ? static_cast<uint32_t>(available) : wanted;
}

bool code_may_change(AppAddress pc) {
  const auto m = find_grown(raw(pc));
  return m != g_mappings.end() && m->second.executable &&
         ((m->second.writable && !is_stable(pc)) || m->second.shared || m->second.file_changes);
}

bool is_private_writable_code(AppAddress pc) {
  const auto m = find(raw(pc));
  return m != g_mappings.end() && m->second.executable && m->second.writable && !m->second.shared && !m->second.file_changes && !m->second.stack;
}

namespace {

bool g_read_implies_exec;

bool makes_executable(uint64_t protection) {
  return (protection & PROT_EXEC) != 0 || (g_read_implies_exec && (protection & PROT_READ) != 0);
}

}  // namespace

void note_read_implies_exec(bool implied) { g_read_implies_exec = implied; }

void note_mapped(AppAddress from, uint64_t bytes, uint64_t protection, uint64_t flags) {
  forget_compared(raw(from), raw(from) + bytes);
  const bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
  add(raw(from), {raw(from) + bytes, makes_executable(protection), (protection & PROT_WRITE) != 0, shared, (flags & MAP_GROWSDOWN) != 0});
}

void note_file_may_change(AppAddress from, uint64_t bytes) {
  const auto m = find(raw(from));
  if (m == g_mappings.end()) return;
  Mapping part = m->second;
  part.end = raw(from) + bytes;
  part.file_changes = true;
  add(raw(from), part);
}

void note_unmapped(AppAddress from, uint64_t bytes) { remove(raw(from), raw(from) + bytes); }

std::vector<TakenOut> take_out(AppAddress from, uint64_t bytes) {
  split(raw(from));
  split(raw(from) + bytes);
  std::vector<TakenOut> parts;
  const auto first = g_mappings.lower_bound(raw(from)), last = g_mappings.lower_bound(raw(from) + bytes);
  for (auto m = first; m != last; ++m) {
    const Mapping& x = m->second;
    count_no_more(m->first, x);
    parts.push_back({m->first, x.end, x.executable, x.writable, x.shared, x.stack, x.file_changes});
  }
  g_mappings.erase(first, last);
  return parts;
}

void put_back(const std::vector<TakenOut>& parts) {
  for (const TakenOut& p : parts) add(p.from, {p.to, p.executable, p.writable, p.shared, p.stack, p.file_changes});
}

AppAddress begin_of_protection(AppAddress from, uint64_t protection) {
  const auto m = find_grown(raw(from));
  if ((protection & PROT_GROWSDOWN) == 0 || m == g_mappings.end() || !m->second.stack) return from;
  // What grew without a call, and parts that are alike again: the kernel has joined them.
  const Mapping whole = m->second;
  uint64_t begin = m->first;
  for (;;) {
    const auto lower = find_grown(begin - kPage);
    if (lower == g_mappings.end() || lower->first >= begin) return AppAddress{begin};
    if (lower->second.end != whole.end && !(lower->second.end == begin && lower->second.like(whole))) return AppAddress{begin};
    begin = lower->first;
  }
}

void note_protected(AppAddress from, uint64_t bytes, uint64_t protection) {
  find_grown(raw(from));
  const uint64_t to = raw(from) + bytes;
  split(raw(from));
  split(to);
  std::vector<uint64_t> borders;
  for (auto m = g_mappings.lower_bound(raw(from)); m != g_mappings.end() && m->first < to; ++m) {
    count_no_more(m->first, m->second);
    m->second.executable = makes_executable(protection);
    m->second.writable = (protection & PROT_WRITE) != 0;
    count(m->first, m->second);
    borders.push_back(m->first);
  }
  borders.push_back(to);
  for (const uint64_t border : borders) join(border);
}

void put_moved(std::vector<TakenOut> parts, AppAddress from, uint64_t old_bytes, AppAddress to, uint64_t new_bytes) {
  for (TakenOut& p : parts) {
    p.from += raw(to) - raw(from);
    p.to += raw(to) - raw(from);
  }
  const uint64_t end = raw(to) + new_bytes;
  if (new_bytes > old_bytes) {   // then it is one mapping
    parts.resize(1);
    parts[0].to = end;
  }
  std::erase_if(parts, [&](const TakenOut& p) { return p.from >= end; });
  for (TakenOut& p : parts) p.to = std::min(p.to, end);
  put_back(parts);
}

void note_moved(AppAddress from, uint64_t old_bytes, AppAddress to, uint64_t new_bytes, bool stays) {
  if (old_bytes == 0) {   // makes a second mapping of the same memory
    const auto m = find(raw(from));
    if (m == g_mappings.end()) return;
    count_no_more(m->first, m->second);
    m->second.shared = true;
    count(m->first, m->second);
    Mapping second = m->second;
    second.end = raw(to) + new_bytes;
    return add(raw(to), second);
  }
  const std::vector<TakenOut> parts = take_out(from, old_bytes);
  if (parts.empty()) return;
  if (stays) put_back(parts);
  put_moved(parts, from, old_bytes, to, new_bytes);
}

}  // namespace simrun::engine
