// A hierarchy goes on from a stored state as the one that it was taken of.
#include <gtest/gtest.h>

#include "base/user_error.h"
#include "tests/sim/machines.h"

namespace simrun::sim {
namespace {

void run(Hierarchy& model, const std::vector<Reference>& stream, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i) {
    if (model.wants_pc()) model.set_pc(stream[i].address >> 8);
    model.access(stream[i].core, stream[i].kind, stream[i].address, stream[i].bytes);
  }
}

// Counts of the second half of a stream: of the one that ran all of it, and of one that began with the state at half.
void expect_same_half(const MachineConfig& machine, const std::vector<Reference>& stream, bool with_events) {
  const size_t half = stream.size() / 2;
  Hierarchy whole(machine);
  run(whole, stream, 0, half);
  const Statistics before = whole.statistics();
  Hierarchy second(machine);
  second.set_state(whole.state());
  EXPECT_TRUE(second.statistics() == Hierarchy(machine).statistics()) << "counts are no state";
  std::string why;
  EXPECT_TRUE(second.check_invariants(&why)) << why;
  run(whole, stream, half, stream.size());
  run(second, stream, half, stream.size());
  EXPECT_TRUE(second.check_invariants(&why)) << why;
  Statistics all = whole.statistics();
  const Statistics alone = second.statistics();
  ASSERT_EQ(all.levels.size(), alone.levels.size());
  for (size_t i = 0; i < all.levels.size(); ++i) {
    all.levels[i].total -= before.levels[i].total;
    EXPECT_TRUE(all.levels[i].total.requests == alone.levels[i].total.requests) << all.levels[i].name;
    if (with_events) {
      EXPECT_TRUE(all.levels[i].total == alone.levels[i].total) << all.levels[i].name;
    }
  }
  all.memory -= before.memory;
  EXPECT_EQ(all.memory.reads, alone.memory.reads);
}

TEST(State, GoesOnAsBefore) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    std::mt19937_64 random(seed);
    const MachineConfig machine = random_machine_with_policies(random);
    SCOPED_TRACE(describe(machine));
    expect_same_half(machine, random_stream(random, machine, 3000), true);
    if (testing::Test::HasFailure()) return;
  }
}

// The stored lines are of other address spaces than those that come after, with the same lower halves of their tags.
TEST(State, UsualMachinesOfSeveralSpaces) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    const MachineConfig machine = random_usual_machine(random);
    SCOPED_TRACE(describe(machine));
    std::vector<Reference> stream = random_stream(random, machine, 3000);
    for (Reference& r : stream) r.address -= (uint64_t{1} << 40) * machine.line_bytes;
    for (size_t i = 0; i < stream.size() / 2; ++i) stream[i].address ^= uint64_t{1 + i % 2} << 50;
    expect_same_half(machine, stream, true);
    if (testing::Test::HasFailure()) return;
  }
}

// Whether a prefetch was late depends on clocks, which start anew.
TEST(State, PrefetchersTlbsAndPages) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    const MachineConfig machine = random_machine_with_everything(random);
    SCOPED_TRACE(describe(machine));
    expect_same_half(machine, random_stream(random, machine, 3000), false);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(State, OfAnotherMachineIsRefused) {
  const Hierarchy small(small_machine(1));
  MachineConfig machine = small_machine(1);
  machine.levels[2].unified.size_bytes *= 2;
  Hierarchy large(machine);
  EXPECT_THROW(large.set_state(small.state()), UserError);
  std::vector<uint8_t> cut = small.state();
  cut.resize(cut.size() - 1);
  Hierarchy other(small_machine(1));
  EXPECT_THROW(other.set_state(cut), UserError);
  std::vector<uint8_t> longer = small.state();
  longer.push_back(0);
  EXPECT_THROW(Hierarchy(small_machine(1)).set_state(longer), UserError);
}

}  // namespace
}  // namespace simrun::sim
