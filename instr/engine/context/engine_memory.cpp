#include "instr/engine/context/engine_memory.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "base/check.h"
#include "instr/border/address_areas.h"
#include "instr/engine/context/fork_locks.h"
#include "instr/engine/context/raw_syscall.h"

namespace simrun::engine {
namespace {

struct Part {
  uint64_t from, to;
  EngineMemory kind;
};

// No allocation: the allocator's own mappings are noted here. Neighbours of a kind are one part, so these are few.
constexpr uint32_t kMaxParts = 4096;
EngineLock g_lock{LockRank::kMemory};  // guards the parts; a leaf: nothing is called under it
const ForkLock g_fork_lock{g_lock};
Part g_parts[kMaxParts];
uint32_t g_count;
std::atomic<uint64_t> g_bytes, g_data_bytes, g_code_bytes;

using Locked = std::lock_guard<EngineLock>;

// The first part that ends above `address`.
uint32_t first_above(uint64_t address) {
  const Part* found =
      std::upper_bound(g_parts, g_parts + g_count, address, [](uint64_t a, const Part& p) { return a < p.to; });
  return static_cast<uint32_t>(found - g_parts);
}

void insert(uint32_t at, const Part& part) {
  CHECK(g_count < kMaxParts);
  std::copy_backward(g_parts + at, g_parts + g_count, g_parts + g_count + 1);
  g_parts[at] = part;
  ++g_count;
}

void erase(uint32_t at) {
  std::copy(g_parts + at + 1, g_parts + g_count, g_parts + at);
  --g_count;
}

void count(const Part& part, bool more) {
  const uint64_t bytes = more ? part.to - part.from : part.from - part.to;
  g_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (part.kind == EngineMemory::kCode) g_code_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (part.kind == EngineMemory::kData) g_data_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void remove(uint64_t from, uint64_t to) {
  for (uint32_t k = first_above(from); k < g_count && g_parts[k].from < to;) {
    const Part old = g_parts[k];
    count({std::max(from, old.from), std::min(to, old.to), old.kind}, false);
    erase(k);
    if (old.from < from) insert(k++, {old.from, from, old.kind});
    if (to < old.to) insert(k++, {to, old.to, old.kind});
  }
}

bool find(uint64_t from, uint64_t to, bool code_only, border::AddressRange& part) {
  const Locked locked(g_lock);
  for (uint32_t k = first_above(from); k < g_count && g_parts[k].from < to; ++k) {
    if (code_only && g_parts[k].kind != EngineMemory::kCode) continue;
    const uint64_t low = std::max(from, g_parts[k].from);
    part = {low, std::min(to, g_parts[k].to) - low};
    return true;
  }
  return false;
}

constexpr uint64_t kSmallStep = 64 << 10, kLargeStep = 64 << 20, kLarge = 4 << 20;

}  // namespace

void note_engine_memory(uint64_t from, uint64_t bytes, EngineMemory kind) {
  const Locked locked(g_lock);
  Part part{from, from + ((bytes + 4095) & ~4095ull), kind};
  remove(part.from, part.to);
  count(part, true);
  uint32_t at = first_above(part.from);
  if (at > 0 && g_parts[at - 1].to == part.from && g_parts[at - 1].kind == kind) {
    part.from = g_parts[at - 1].from;
    erase(--at);
  }
  if (at < g_count && g_parts[at].from == part.to && g_parts[at].kind == kind) {
    part.to = g_parts[at].to;
    erase(at);
  }
  insert(at, part);
}

void forget_engine_memory(uint64_t from, uint64_t bytes) {
  const Locked locked(g_lock);
  remove(from, from + ((bytes + 4095) & ~4095ull));
}

bool find_engine_memory(uint64_t from, uint64_t to, border::AddressRange& part) { return find(from, to, false, part); }
bool find_engine_code(uint64_t from, uint64_t to, border::AddressRange& part) { return find(from, to, true, part); }

uint64_t engine_memory_bytes() { return g_bytes.load(std::memory_order_relaxed); }
uint64_t engine_data_bytes() { return g_data_bytes.load(std::memory_order_relaxed); }
uint64_t engine_code_bytes() { return g_code_bytes.load(std::memory_order_relaxed); }

void* map_engine_memory(uint64_t bytes, int flags) {
  static std::atomic<uint64_t> next{border::kEngineDataArea};  // shared by all threads
  constexpr int kAttempts = 64;                                // the application may have put something there
  const uint64_t step = bytes >= kLarge ? kLargeStep : kSmallStep;
  const int sharing = (flags & MAP_SHARED) ? 0 : MAP_PRIVATE;
  const auto map = [&](uint64_t at, int fixed) {
    return raw_syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE,
                       static_cast<uint64_t>(MAP_ANONYMOUS | fixed | sharing | flags), ~0ull, 0);
  };
  const auto note = [&](int64_t at) {
    note_engine_memory(static_cast<uint64_t>(at), bytes, sharing ? EngineMemory::kData : EngineMemory::kOther);
    return reinterpret_cast<void*>(at);
  };
  for (int k = 0; k < kAttempts; ++k) {
    uint64_t seen = next.load(std::memory_order_relaxed), at;
    do {
      at = (seen + step - 1) & ~(step - 1);
    } while (!next.compare_exchange_weak(seen, at + ((bytes + kSmallStep - 1) & ~(kSmallStep - 1)),
                                         std::memory_order_relaxed));
    const int64_t result = map(at, MAP_FIXED_NOREPLACE);
    if (result == static_cast<int64_t>(at)) return note(result);
    if (result == -ENOMEM) return MAP_FAILED;
    if (result > 0)
      raw_syscall(SYS_munmap, static_cast<uint64_t>(result), bytes);  // before Linux 4.17 the address is a hint
  }
  const int64_t anywhere = map(0, 0);
  return anywhere > 0 ? note(anywhere) : MAP_FAILED;
}

void unmap_engine_memory(void* at, uint64_t bytes) {
  raw_syscall(SYS_munmap, word(at), bytes);
  forget_engine_memory(word(at), bytes);
}

}  // namespace simrun::engine
