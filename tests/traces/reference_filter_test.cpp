// What caches count of a filtered trace beside what they count of all of it.
#include "traces/export/reference_filter.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "sim/build/validate_machine.h"
#include "sim/hierarchy.h"
#include "tests/sim/machines.h"

namespace simrun::traces {
namespace {

sim::Access access_of(OperandKind kind) {
  if (kind == OperandKind::kFlush) return sim::Access::kFlush;
  if (kind == OperandKind::kPrefetch) return sim::Access::kPrefetch;
  if (kind == OperandKind::kReadModifyWrite) return sim::Access::kReadModifyWrite;
  return writes(kind) ? sim::Access::kStore : sim::Access::kLoad;
}

// Instructions into a machine; threads run on the cores of their numbers.
class IntoMachine final : public Exporter {
 public:
  explicit IntoMachine(const sim::MachineConfig& machine) : machine_(machine) {}
  bool on_instruction(const InstructionRecord& i) override {
    machine_.access(i.thread, sim::Access::kFetch, i.pc, i.length);
    return on_begun_string(i);
  }
  bool on_unfetched(const InstructionRecord& i) override { return on_begun_string(i); }
  bool on_begun_string(const InstructionRecord& i) override {
    for (const MemoryReference& r : i.references) machine_.access(i.thread, access_of(r.kind), r.address, r.bytes);
    return true;
  }

  // What must be equal: all but hits of level 1, and who was asked how often.
  std::vector<uint64_t> counts() const {
    const sim::Statistics s = machine_.statistics();
    std::vector<uint64_t> counts{s.memory.reads, s.memory.writes, s.memory.invalidations_sent};
    for (const sim::LevelStatistics& level : s.levels) {
      const sim::CacheStatistics& t = level.total;
      counts.insert(counts.end(), {sim::all(t.requests.misses), t.evictions, t.write_backs_out, t.write_backs_in, t.upgrades, t.invalidations_received,
                                   t.downgrades, t.interventions, t.victims_in});
    }
    return counts;
  }

 private:
  sim::Hierarchy machine_;
};

constexpr uint32_t kLine = 64;
constexpr uint64_t kFilterLines = 4;

// Level 1 has a multiple of the filter's sets, the others have any number, and take no lines from it.
sim::MachineConfig random_machine(std::mt19937_64& random, sim::Inclusion inclusion) {
  const auto below = [&](uint64_t n) { return random() % n; };
  const auto cores = static_cast<uint32_t>(1 + below(3));
  sim::MachineConfig m;
  m.name = "random", m.cores = cores, m.line_bytes = kLine;
  const auto ways = static_cast<uint32_t>(1) << below(4);
  m.levels = {sim::split_level("L1", 1, kLine * kFilterLines * (1 + below(3)) * ways, ways),
              sim::unified_level("L2", 1, kLine * (8 + below(20)) * 4, 4),
              sim::unified_level("L3", cores, kLine * (20 + below(50)) * 16, 16)};
  m.levels[0].replacement = below(2) == 0 ? sim::Replacement::kLru : sim::Replacement::kTreePlru;
  for (size_t level : {1, 2}) m.levels[level].inclusion = inclusion;
  m.coherence = std::vector{sim::Coherence::kMsi, sim::Coherence::kMesi, sim::Coherence::kMoesi}[below(3)];
  return m;
}

// References near each other and further away, by several threads to the same lines, all kinds.
class Program {
 public:
  Program(uint64_t seed, uint32_t threads) : random_(seed), threads_(threads) {}
  InstructionRecord next() {
    InstructionRecord i;
    if (below(8) == 0) thread_ = static_cast<uint32_t>(below(threads_));
    i.thread = i.process = thread_;  // who reads the formats is not told of processes
    i.length = static_cast<uint8_t>(1 + below(15));
    if (below(20) == 0) pc_ = 0x1000 + below(16384);
    i.pc = pc_;
    pc_ += i.length;
    references_.clear();
    for (uint64_t n = below(3); n > 0; --n) {
      MemoryReference r;
      if (below(4) == 0) near_ = below(8) == 0 ? 0x1000 + below(16384) : 0x8000 + below(32768);
      r.address = near_ + below(24);
      r.bytes = static_cast<uint32_t>(1) << below(6);
      if (below(40) == 0) r.bytes = 300;
      r.kind = below(12) == 0 ? (below(2) == 0 ? OperandKind::kFlush : OperandKind::kPrefetch)
                              : std::vector{OperandKind::kLoad, OperandKind::kLoad, OperandKind::kStore, OperandKind::kReadModifyWrite,
                                            OperandKind::kNonTemporalLoad, OperandKind::kNonTemporalStore}[below(6)];
      references_.push_back(r);
    }
    i.references = references_;
    return i;
  }

 private:
  uint64_t below(uint64_t n) { return random_() % n; }
  std::mt19937_64 random_;
  const uint32_t threads_;
  uint32_t thread_ = 0;
  uint64_t pc_ = 0x1000, near_ = 0x8000;
  std::vector<MemoryReference> references_;
};

struct Outcome {
  std::vector<uint64_t> all, filtered;
  double kept;
};

Outcome run(const sim::MachineConfig& machine, uint64_t seed) {
  IntoMachine all(machine), rest(machine);
  FilteringExporter filtering(rest, ReferenceFilter(kFilterLines * kLine, kLine, true, rest));
  Program program(seed, machine.cores);
  uint64_t count = 0;
  for (int n = 0; n < 5000; ++n) {
    const InstructionRecord i = program.next();
    count += 1 + i.references.size();
    all.on_instruction(i);
    filtering.on_instruction(i);
  }
  return {all.counts(), rest.counts(), static_cast<double>(filtering.kept_fetches() + filtering.kept_references()) / static_cast<double>(count)};
}

TEST(ReferenceFilter, CachesMissWhatTheyMissOfAll) {
  const uint64_t first = sim::from_environment("SIMRUN_TEST_FIRST", 1), cases = sim::from_environment("SIMRUN_TEST_CASES", 150);
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    std::mt19937_64 random(seed);
    const auto inclusion = random() % 2 == 0 ? sim::Inclusion::kNonInclusive : sim::Inclusion::kExclusive;
    const sim::MachineConfig machine = random_machine(random, inclusion);
    SCOPED_TRACE("SIMRUN_TEST_FIRST=" + std::to_string(seed) + ", " + sim::describe(machine));
    const Outcome outcome = run(machine, seed);
    EXPECT_EQ(outcome.all, outcome.filtered);
    EXPECT_LT(outcome.kept, 0.8);
    if (HasFailure()) return;
  }
}

// As the documentation says: inclusive caches take lines away that were left out since.
TEST(ReferenceFilter, InclusiveCachesAreNotExact) {
  uint64_t different = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    sim::MachineConfig machine = random_machine(random, sim::Inclusion::kInclusive);
    machine.levels[1].unified.size_bytes = machine.levels[0].data.size_bytes * 2 / (kLine * 4) * (kLine * 4);
    if (sim::find_problem(machine)) continue;
    const Outcome outcome = run(machine, seed);
    different += outcome.all != outcome.filtered;
  }
  EXPECT_GT(different, 0u);
}

}  // namespace
}  // namespace simrun::traces
