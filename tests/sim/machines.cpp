#include "tests/sim/machines.h"

#include <algorithm>
#include <stdexcept>

#include "sim/build/validate_machine.h"

namespace simrun::sim {

namespace {

uint64_t below(std::mt19937_64& random, uint64_t limit) { return random() % limit; }

template <typename T>
T one_of(std::mt19937_64& random, std::initializer_list<T> values) {
  return *(values.begin() + below(random, values.size()));
}

// A size at least `at_least`, with a number of sets that is often no power of two.
CacheShape random_shape(std::mt19937_64& random, uint32_t line_bytes, uint64_t at_least) {
  const uint32_t ways = one_of<uint32_t>(random, {1, 1, 2, 3, 4, 5, 8, 8, 9, 12, 16, 16, 17, 20, 33, 64});
  const uint64_t row = uint64_t{ways} * line_bytes;
  const uint64_t sets = one_of<uint64_t>(random, {1, 1, 2, 3, 4, 6, 8, 11, 16});
  return {std::max(sets, (at_least + row - 1) / row) * row, ways, 0};
}

std::string describe(const CacheShape& shape) {
  return std::to_string(shape.size_bytes) + "/" + std::to_string(shape.ways) + " ";
}

}  // namespace

CacheStatistics total(const Hierarchy& hierarchy, const std::string& level) {
  for (const LevelStatistics& l : hierarchy.statistics().levels)
    if (l.name == level) return l.total;
  throw std::out_of_range("no level " + level);
}

std::string describe(const MachineConfig& machine) {
  std::string text = std::to_string(machine.cores) + " cores, line " + std::to_string(machine.line_bytes) + ": ";
  for (const LevelConfig& level : machine.levels) {
    text += level.name + " by " + std::to_string(level.cores_per_cache) + " ";
    text += level.split ? "I " + describe(level.instruction) + "D " + describe(level.data) : describe(level.unified);
    const auto policy = [&](auto value, const char* name) {
      if (static_cast<int>(value) != 0) text += name + std::to_string(static_cast<int>(value)) + " ";
    };
    policy(level.replacement, "replacement "), policy(level.inclusion, "inclusion ");
    policy(level.write_policy, "write-through "), policy(level.write_miss, "no-allocate ");
  }
  return text + "coherence " + std::to_string(static_cast<int>(machine.coherence));
}

MachineConfig random_machine(std::mt19937_64& random) {
  MachineConfig m;
  m.name = "random";
  m.cores = one_of<uint32_t>(random, {1, 1, 2, 2, 3, 4, 4, 6, 8, 12, 70});
  m.line_bytes = one_of<uint32_t>(random, {8, 32, 64, 64, 128});
  const uint64_t levels = 1 + below(random, 4);
  uint32_t span = 1;
  uint64_t largest = 0;
  bool may_split = true;
  for (uint64_t i = 0; i < levels; ++i) {
    std::vector<uint32_t> spans;
    for (uint32_t s = span; s <= m.cores; s += span)
      if (m.cores % s == 0) spans.push_back(s);
    span = i + 1 == levels && below(random, 2) == 0 ? m.cores
                                                    : spans[below(random, std::min<uint64_t>(spans.size(), 1 + i))];
    LevelConfig level;
    level.name = "L" + std::to_string(i + 1);
    level.cores_per_cache = span;
    level.split = may_split && below(random, i == 0 ? 2 : 6) == 0;
    may_split = level.split;
    const uint64_t needed = largest;
    for (CacheShape* shape : {&level.unified, &level.instruction, &level.data}) {
      if ((shape == &level.unified) == level.split) continue;
      *shape = random_shape(random, m.line_bytes, needed);
      largest = std::max(largest, shape->size_bytes);
    }
    m.levels.push_back(level);
  }
  return m;
}

MachineConfig random_usual_machine(std::mt19937_64& random) {
  MachineConfig m;
  m.name = "usual";
  m.cores = one_of<uint32_t>(random, {1, 2, 3, 4, 8, 9});
  m.line_bytes = one_of<uint32_t>(random, {32, 64});
  m.coherence = one_of(random, {Coherence::kMesi, Coherence::kMesi, Coherence::kMsi, Coherence::kMoesi,
                                Coherence::kMesif, Coherence::kNone});
  const uint64_t levels = 2 + below(random, 2);
  uint32_t span = 1;
  uint64_t size = 0;
  for (uint64_t i = 0; i < levels; ++i) {
    if (i + 1 == levels)
      span = m.cores;
    else if (below(random, 4) == 0 && m.cores % 2 == 0)
      span = 2;
    const uint32_t ways = i == 0 ? one_of<uint32_t>(random, {8, 8, 8, 8, 4}) : one_of<uint32_t>(random, {8, 8, 16, 16, 12});
    const uint64_t row = uint64_t{ways} * m.line_bytes;
    size = std::max(row * one_of<uint64_t>(random, {1, 2, 4, 8}), (size + row - 1) / row * row);
    LevelConfig level;
    level.name = "L" + std::to_string(i + 1);
    level.cores_per_cache = span;
    level.split = i == 0 && below(random, 3) != 0;
    level.unified = level.instruction = level.data = {size, ways, 0};
    m.levels.push_back(level);
  }
  return m;
}

MachineConfig random_machine_with_policies(std::mt19937_64& random) {
  for (;;) {
    MachineConfig m = random_machine(random);
    m.coherence = one_of(random, {Coherence::kMesi, Coherence::kMesi, Coherence::kMsi, Coherence::kMoesi,
                                  Coherence::kMoesi, Coherence::kMesif, Coherence::kNone});
    m.requests = one_of(random, {Requests::kDirectory, Requests::kSnooping});
    const bool writes_pass = below(random, 3) == 0;
    for (LevelConfig& level : m.levels) {
      if (below(random, 2) == 0) level.replacement = static_cast<Replacement>(below(random, 13));
      if (&level != &m.levels[0]) level.inclusion = static_cast<Inclusion>(below(random, 3));
      if (writes_pass && below(random, 3) != 0) level.write_policy = WritePolicy::kWriteThrough;
      if (writes_pass && below(random, 2) == 0) level.write_miss = WriteMiss::kNoAllocate;
      if (level.inclusion != Inclusion::kInclusive)  // may be smaller than what is above
        for (CacheShape* shape : {&level.unified, &level.instruction, &level.data})
          if (shape->ways != 0 && below(random, 2) == 0) *shape = random_shape(random, m.line_bytes, 0);
    }
    if (!find_problem(m)) return m;
  }
}

namespace {

void add_tlbs(std::mt19937_64& random, MachineConfig& m) {
  const auto tlb_shape = [&] {
    const uint32_t ways = one_of<uint32_t>(random, {1, 2, 4, 7, 12, 17, 24});
    return TlbShape{ways * one_of<uint32_t>(random, {1, 2, 3, 8}), ways};
  };
  m.page_bytes = std::max<uint64_t>(one_of<uint64_t>(random, {512, 4096, 16384}), m.line_bytes);
  if (below(random, 3) == 0) m.addresses = Addresses::kFirstTouch;
  if (below(random, 2) == 0) m.tlb = TlbConfig{tlb_shape(), tlb_shape(), {}, 7, 30};
  if (m.tlb && below(random, 2) == 0) m.tlb->second = tlb_shape();
}

PrefetchConfig random_prefetcher(std::mt19937_64& random, PrefetchKind kind) {
  return {kind, one_of<uint32_t>(random, {1, 1, 2, 4}), one_of<uint32_t>(random, {1, 1, 2, 3})};
}

}  // namespace

MachineConfig random_machine_with_everything(std::mt19937_64& random) {
  MachineConfig m = random_machine_with_policies(random);
  add_tlbs(random, m);
  for (LevelConfig& level : m.levels)
    for (CacheShape* shape : {&level.unified, &level.instruction, &level.data}) {
      shape->latency = static_cast<uint32_t>(below(random, 50));
      if (level.inclusion == Inclusion::kExclusive) continue;
      for (uint64_t n = below(random, 3); n > 0; --n)
        shape->prefetch.push_back(random_prefetcher(random, static_cast<PrefetchKind>(below(random, 3))));
    }
  m.memory_latency = 100;
  return m;
}

MachineConfig random_real_machine(std::mt19937_64& random) {
  for (;;) {
    MachineConfig m = random_usual_machine(random);
    add_tlbs(random, m);
    m.memory_latency = 100;
    LevelConfig &one = m.levels[0], &two = m.levels[1];
    if (below(random, 3) == 0) one.replacement = Replacement::kTreePlru;
    if (below(random, 3) == 0) two.inclusion = Inclusion::kNonInclusive, two.replacement = Replacement::kTreePlru;
    if (m.levels.size() > 2) {
      m.levels[2].inclusion = static_cast<Inclusion>(below(random, 3));
      m.levels[2].replacement = one_of(random, {Replacement::kLru, Replacement::kSrrip});
      if (two.cores_per_cache != m.cores && below(random, 2) == 0) m.levels[2].cores_per_cache = two.cores_per_cache;
    }
    if (below(random, 4) != 0)
      for (CacheShape* shape : {&one.unified, &one.data}) shape->prefetch = {random_prefetcher(random, PrefetchKind::kStride)};
    if (below(random, 4) == 0) one.data.prefetch.push_back(random_prefetcher(random, static_cast<PrefetchKind>(below(random, 3))));
    if (below(random, 2) == 0)
      two.unified.prefetch = {random_prefetcher(random, one_of(random, {PrefetchKind::kStream, PrefetchKind::kStream, PrefetchKind::kStride}))};
    if (below(random, 8) == 0) one.write_policy = WritePolicy::kWriteThrough;
    if (below(random, 8) == 0) one.write_miss = WriteMiss::kNoAllocate;
    for (LevelConfig& level : m.levels)
      for (CacheShape* shape : {&level.unified, &level.instruction, &level.data}) {
        if ((shape == &level.unified) == level.split) shape->prefetch.clear();
        shape->latency = static_cast<uint32_t>(below(random, 50));
      }
    if (!find_problem(m)) return m;
  }
}

std::vector<Reference> random_stream(std::mt19937_64& random, const MachineConfig& machine, size_t length) {
  const uint64_t lines = one_of<uint64_t>(random, {2, 8, 40, 150, 600});
  const uint64_t spread = one_of<uint64_t>(random, {1, 1, 3, 64});  // lines far apart meet in few sets
  const uint64_t write_percent = one_of<uint64_t>(random, {0, 5, 30, 70});
  std::vector<Reference> stream(length);
  uint64_t position = 0;
  for (Reference& r : stream) {
    if (below(random, 3) != 0) position = below(random, lines);
    r.core = static_cast<uint32_t>(below(random, machine.cores));
    const uint64_t k = below(random, 100);
    r.kind = k < write_percent         ? one_of(random, {Access::kStore, Access::kStore, Access::kReadModifyWrite})
             : below(random, 100) < 2  ? Access::kFlush
             : below(random, 100) < 4  ? Access::kPrefetch
             : below(random, 100) < 25 ? Access::kFetch
                                       : Access::kLoad;
    r.address = (position * spread + (uint64_t{1} << 40)) * machine.line_bytes + below(random, machine.line_bytes);
    r.bytes = static_cast<uint32_t>(below(random, 20) == 0 ? below(random, 3 * machine.line_bytes) : below(random, 9));
  }
  return stream;
}

}  // namespace simrun::sim
