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
      if (!g_executable.empty() && g_executable.back().end == from)
        g_executable.back().end = to;
      else
        g_executable.push_back({from, to});
    }
    while (p < end && *p != '\n') ++p;
    ++p;
  }
}

uint64_t end_of_executable(uint64_t pc) {
  for (const Range& r : g_executable)
    if (pc >= r.start && pc < r.end) return r.end;
  return 0;
}

}  // namespace

uint32_t executable_bytes(AppAddress pc, uint32_t wanted) {
  uint64_t end = end_of_executable(raw(pc));
  if (end == 0) {
    read_maps();
    end = end_of_executable(raw(pc));
    if (end == 0) return 0;
  }
  const uint64_t available = end - raw(pc);
  return available < wanted ? static_cast<uint32_t>(available) : wanted;
}

void forget_address_space() { g_executable.clear(); }

}  // namespace simrun::engine
