#include "instr/engine/translate/address_space.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/check.h"

namespace simrun::engine {
namespace {

struct Range {
  uint64_t start, end;
  bool may_change;
};

std::vector<Range> g_executable;
std::vector<char> g_text;

// thread-self: the process has no memory in /proc once its first thread has ended. Reads the whole file in as few reads as the kernel allows; no descriptor stays open.
void read_maps() {
  g_executable.clear();
  g_text.resize(1 << 16);
  const int fd = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
  CHECK(fd >= 0);
  size_t size = 0;
  for (;;) {
    if (size == g_text.size()) g_text.resize(2 * size);
    const ssize_t n = read(fd, g_text.data() + size, g_text.size() - size);
    if (n <= 0) break;
    size += static_cast<size_t>(n);
  }
  close(fd);
  const char* p = g_text.data();
  const char* const end = p + size;
  while (p < end) {
    char* q = nullptr;
    const uint64_t from = std::strtoull(p, &q, 16);
    const uint64_t to = std::strtoull(q + 1, &q, 16);
    if (q[1] == 'r' && q[3] == 'x') {
      const bool may_change = q[2] == 'w' || q[4] == 's';
      if (!g_executable.empty() && g_executable.back().end == from && g_executable.back().may_change == may_change)
        g_executable.back().end = to;
      else
        g_executable.push_back({from, to, may_change});
    }
    while (p < end && *p != '\n') ++p;
    ++p;
  }
}

const Range* range_of(uint64_t pc) {
  static size_t last = 0;   // neighbouring questions have the same answer
  if (last < g_executable.size() && pc >= g_executable[last].start && pc < g_executable[last].end) return &g_executable[last];
  for (const Range& r : g_executable)
    if (pc >= r.start && pc < r.end) {
      last = static_cast<size_t>(&r - g_executable.data());
      return &r;
    }
  return nullptr;
}

// Renews the view when it does not know the page.
const Range* find(uint64_t pc) {
  if (const Range* known = range_of(pc)) return known;
  read_maps();
  return range_of(pc);
}

}  // namespace

uint32_t executable_bytes(AppAddress pc, uint32_t wanted) {
  const Range* range = find(raw(pc));
  if (range == nullptr) return 0;
  uint64_t end = range->end;
  for (const Range* next = range + 1; next < g_executable.data() + g_executable.size() && next->start == end; ++next) end = next->end;
  const uint64_t available = end - raw(pc);
  return available < wanted ? static_cast<uint32_t>(available) : wanted;
}

bool code_may_change(AppAddress pc) {
  const Range* range = find(raw(pc));
  return range != nullptr && range->may_change;
}

void forget_address_space() { g_executable.clear(); }

}  // namespace simrun::engine
