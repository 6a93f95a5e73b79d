// The fast model equals the reference model to the last counter, over random machines and streams.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "tests/sim/machines.h"
#include "tests/sim/reference_model.h"

namespace simrun::sim {
namespace {

std::string print(const AccessCounts& c) {
  std::ostringstream out;
  out << c.fetches << "f " << c.reads << "r " << c.writes << "w " << c.prefetches << "p " << c.read_modify_writes << "m";
  return out.str();
}

std::string print(const CacheStatistics& s) {
  std::ostringstream out;
  out << "accesses " << print(s.requests.accesses) << " misses " << print(s.requests.misses) << " evictions "
      << s.evictions << " wb out " << s.write_backs_out << " in " << s.write_backs_in << " back-inv "
      << s.back_invalidations << " flushed " << s.flushed_lines << " upgrades " << s.upgrades << " inv sent "
      << s.invalidations_sent << " received " << s.invalidations_received << " downgrades " << s.downgrades
      << " interventions " << s.interventions << " dirty " << s.dirty_interventions << " clean " << s.clean_supplies
      << " by children " << s.supplied_by_children << " victims in " << s.victims_in << " passed on "
      << s.writes_passed_on << " snoops " << s.snoops_sent << " prefetches " << s.prefetches_issued << " redundant "
      << s.prefetches_redundant << " useful " << s.prefetches_useful << " late " << s.prefetches_late << " unused "
      << s.prefetches_unused;
  return out.str();
}

void expect_equal(const Statistics& fast, const Statistics& reference) {
  ASSERT_EQ(fast.levels.size(), reference.levels.size());
  for (size_t i = 0; i < fast.levels.size(); ++i) {
    ASSERT_EQ(fast.levels[i].caches.size(), reference.levels[i].caches.size());
    for (size_t j = 0; j < fast.levels[i].caches.size(); ++j) {
      const CacheInstanceStatistics& f = fast.levels[i].caches[j];
      const CacheInstanceStatistics& r = reference.levels[i].caches[j];
      EXPECT_TRUE(f == r) << f.name << "\n  fast      " << print(f.total) << "\n  reference " << print(r.total);
    }
    EXPECT_TRUE(fast.levels[i] == reference.levels[i]) << fast.levels[i].name;
  }
  EXPECT_TRUE(fast.cores == reference.cores);
  EXPECT_TRUE(fast.transfers == reference.transfers) << "who served whom";
  EXPECT_EQ(fast.memory.reads, reference.memory.reads);
  EXPECT_EQ(fast.memory.writes, reference.memory.writes);
  EXPECT_TRUE(fast == reference);
}

// What a model says that reaches memory.
class Memory final : public MemoryObserver {
 public:
  void memory_access(MemoryAccess access, uint64_t line) override { accesses_.emplace_back(access, line); }
  // Since the last call.
  ReferenceModel::MemoryAccesses take() { return std::exchange(accesses_, {}); }

 private:
  ReferenceModel::MemoryAccesses accesses_;
};

// Of one reference, whose victims leave in an order of the model's own.
void expect_same_accesses(ReferenceModel::MemoryAccesses fast, ReferenceModel::MemoryAccesses reference) {
  std::sort(fast.begin(), fast.end());
  std::sort(reference.begin(), reference.end());
  EXPECT_EQ(fast, reference) << "what reached memory";
}

using MoveLines = void (*)(std::mt19937_64&, const MachineConfig&, std::vector<Reference>&);

void compare(MachineConfig (*make_machine)(std::mt19937_64&), MoveLines move_lines = nullptr) {
  const bool everywhere = std::getenv("SIMRUN_TEST_SEED") != nullptr;  // looking for a fault
  const uint64_t first = from_environment(everywhere ? "SIMRUN_TEST_SEED" : "SIMRUN_TEST_FIRST", 1);
  const uint64_t cases = everywhere ? 1 : from_environment("SIMRUN_TEST_CASES", 2000);
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    std::mt19937_64 random(seed);
    const MachineConfig machine = make_machine(random);
    SCOPED_TRACE("SIMRUN_TEST_SEED=" + std::to_string(seed) + ", " + describe(machine));
    Hierarchy fast(machine), watched(machine);
    ReferenceModel reference(machine);
    Memory memory;
    const bool watches = everywhere || seed % 4 == 0;
    watched.tell_of_memory(&memory);
    std::vector<Reference> stream = random_stream(random, machine, 200 + random() % 1500);
    if (move_lines != nullptr) move_lines(random, machine, stream);
    for (size_t i = 0; i < stream.size(); ++i) {
      const Reference& r = stream[i];
      fast.set_pc(r.address % 7);
      reference.set_pc(r.address % 7);
      fast.access(r.core, r.kind, r.address, r.bytes);
      reference.access(r.core, r.kind, r.address, r.bytes);
      if (watches) {
        watched.set_pc(r.address % 7);
        watched.access(r.core, r.kind, r.address, r.bytes);
        expect_same_accesses(memory.take(), reference.take_memory_accesses());
        if (testing::Test::HasFailure()) return;
      }
      std::string why;
      if (i % 257 == 0 || everywhere) {
        ASSERT_TRUE(fast.check_invariants(&why)) << why << " after " << i;
      }
      if (everywhere || (i % 257 == 256 && seed % 4 == 0)) {
        SCOPED_TRACE("after reference " + std::to_string(i) + ": core " + std::to_string(r.core) + " kind " +
                     std::to_string(index(r.kind)) + " line " + std::to_string(r.address / machine.line_bytes));
        expect_equal(fast.statistics(), reference.statistics());
        if (testing::Test::HasFailure()) return;
      }
    }
    std::string why;
    ASSERT_TRUE(fast.check_invariants(&why)) << why;
    expect_equal(fast.statistics(), reference.statistics());
    if (watches) expect_equal(watched.statistics(), reference.statistics());
    if (testing::Test::HasFailure()) return;
  }
}

TEST(EqualsReference, RandomMachinesAndStreams) { compare(random_machine); }
TEST(EqualsReference, RandomPoliciesAndProtocols) { compare(random_machine_with_policies); }

TEST(EqualsReference, RandomUsualMachines) { compare(random_usual_machine); }
TEST(EqualsReference, RandomPrefetchersAndTlbs) { compare(random_machine_with_everything); }
TEST(EqualsReference, RandomRealMachines) { compare(random_real_machine); }

// Tags are kept as 32 bits until a line comes that needs more (sim/cache/cache.h): all lines have small tags, or those
// of one cache pass the largest that fits, or some belong to other address spaces, with the same lower bits.
void move_near_and_far(std::mt19937_64& random, const MachineConfig& machine, std::vector<Reference>& stream) {
  const LevelConfig& level = machine.levels[random() % machine.levels.size()];
  const CacheShape& shape = level.split ? level.data : level.unified;
  const uint64_t sets = shape.size_bytes / (uint64_t{machine.line_bytes} * shape.ways);
  const uint64_t passes = (uint64_t{1} << 32) - 1 - random() % 3;
  const uint64_t base = std::array{uint64_t{0}, passes * sets - random() % (2 * sets), passes * sets}[random() % 3];
  const uint64_t spaces = random() % 2 == 0 ? 1 : 3;
  for (Reference& r : stream) {
    r.address += (base - (uint64_t{1} << 40)) * machine.line_bytes;
    r.address ^= random() % spaces << 50;
  }
}

TEST(EqualsReference, LinesNearAndFar) { compare(random_machine, move_near_and_far); }
TEST(EqualsReference, LinesNearAndFarInUsualMachines) { compare(random_usual_machine, move_near_and_far); }
TEST(EqualsReference, LinesNearAndFarInRealMachines) { compare(random_real_machine, move_near_and_far); }
TEST(EqualsReference, LinesNearAndFarByAnyPolicy) { compare(random_machine_with_policies, move_near_and_far); }

// The machine that people use, on streams long enough to fill its levels.
TEST(EqualsReference, DeepMachineLongStream) {
  for (const uint32_t cores : {1u, 2u, 8u}) {
    std::mt19937_64 random(cores);
    const MachineConfig machine = small_machine(cores);
    Hierarchy fast(machine);
    ReferenceModel reference(machine);
    for (int i = 0; i < 400'000; ++i) {
      const auto core = static_cast<uint32_t>(random() % cores);
      const uint64_t shared = random() % 4 == 0 ? 0 : (core + 1) << 16;
      const auto kind = static_cast<Access>(random() % 40 == 0 ? 5 : random() % 5);
      const uint64_t line = shared + random() % (random() % 3 == 0 ? 6000 : 100);
      fast.access_line(core, kind, line);
      reference.access_line(core, kind, line);
    }
    std::string why;
    ASSERT_TRUE(fast.check_invariants(&why)) << why;
    expect_equal(fast.statistics(), reference.statistics());
  }
}

}  // namespace
}  // namespace simrun::sim
