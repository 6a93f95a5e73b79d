#include "instr/engine/translate/address_space.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <vector>

namespace simrun::engine {
namespace {

struct Mapping {
  uint64_t end;
  bool executable, writable, shared;

  bool like(const Mapping& other) const {
    return executable == other.executable && writable == other.writable && shared == other.shared;
  }
};

using Mappings = std::map<uint64_t, Mapping>;   // by start; they do not overlap
Mappings g_mappings;

// The mapping that holds `address`, or end().
Mappings::iterator find(uint64_t address) {
  auto after = g_mappings.upper_bound(address);
  if (after == g_mappings.begin()) return g_mappings.end();
  --after;
  return address < after->second.end ? after : g_mappings.end();
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
  g_mappings.erase(g_mappings.lower_bound(from), g_mappings.lower_bound(to));
}

void add(uint64_t from, const Mapping& m) {
  remove(from, m.end);
  const auto below = g_mappings.lower_bound(from);
  if (below != g_mappings.begin() && std::prev(below)->second.end == from && std::prev(below)->second.like(m))
    std::prev(below)->second.end = m.end;   // neighbours alike are one: many small mappings stay cheap
  else
    g_mappings.emplace(from, m);
}

std::vector<char> read_file(const char* path) {
  std::vector<char> text(1 << 16);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  size_t size = 0;
  for (;;) {
    if (size == text.size()) text.resize(2 * size);
    const ssize_t n = read(fd, text.data() + size, text.size() - size);
    if (n <= 0) break;
    size += static_cast<size_t>(n);
  }
  close(fd);
  text.resize(size);
  return text;
}

}  // namespace

void read_address_space() {
  const std::vector<char> text = read_file("/proc/thread-self/maps");   // "self" has no memory once the first thread has ended
  if (text.empty()) return;
  g_mappings.clear();
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p < end) {
    char* q = nullptr;
    const uint64_t from = std::strtoull(p, &q, 16);
    const uint64_t to = std::strtoull(q + 1, &q, 16);
    add(from, {to, q[1] == 'r' && q[3] == 'x', q[2] == 'w', q[4] == 's'});
    while (p < end && *p != '\n') ++p;
    ++p;
  }
}

uint32_t executable_bytes(AppAddress pc, uint32_t wanted) {
  auto m = find(raw(pc));
  uint64_t end = raw(pc);
  for (; m != g_mappings.end() && m->second.executable && end < raw(pc) + wanted && m->first <= end; ++m) end = m->second.end;
  const uint64_t available = end - raw(pc);
  return available < wanted ? static_cast<uint32_t>(available) : wanted;
}

bool code_may_change(AppAddress pc) {
  const auto m = find(raw(pc));
  return m != g_mappings.end() && m->second.executable && (m->second.writable || m->second.shared);
}

void note_mapped(AppAddress from, uint64_t bytes, uint64_t protection, uint64_t flags) {
  const bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
  add(raw(from), {raw(from) + bytes, (protection & PROT_EXEC) != 0, (protection & PROT_WRITE) != 0, shared});
}

void note_unmapped(AppAddress from, uint64_t bytes) { remove(raw(from), raw(from) + bytes); }

void note_protected(AppAddress from, uint64_t bytes, uint64_t protection) {
  const uint64_t to = raw(from) + bytes;
  split(raw(from));
  split(to);
  for (auto m = g_mappings.lower_bound(raw(from)); m != g_mappings.end() && m->first < to; ++m) {
    m->second.executable = (protection & PROT_EXEC) != 0;
    m->second.writable = (protection & PROT_WRITE) != 0;
  }
}

void note_moved(AppAddress from, uint64_t old_bytes, AppAddress to, uint64_t new_bytes) {
  const auto m = find(raw(from));
  if (m == g_mappings.end()) return;
  Mapping moved = m->second;
  moved.end = raw(to) + new_bytes;
  // An old size of 0 makes a second mapping of the same memory.
  if (old_bytes == 0) m->second.shared = moved.shared = true;
  remove(raw(from), raw(from) + old_bytes);
  add(raw(to), moved);
}

}  // namespace simrun::engine
