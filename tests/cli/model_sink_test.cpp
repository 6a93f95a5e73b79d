// Paths of references at once count what the same references count one by one: for every kind of machine, with several
// cores in turns, references to several lines, software prefetches and flushes among them.
#include "cli/model_sink.h"

#include <gtest/gtest.h>

#include "instr/channel/replay.h"
#include "tests/sim/machines.h"

namespace simrun::cli {
namespace {

using channel::Reference;
using channel::ReferenceKind;

// A path and one execution of it.
struct Execution {
  std::vector<Reference> references;
  std::vector<uint64_t> pcs, words;
  channel::PlainCounts counts{};

  channel::PlainReferences plain() const {
    return {references.data(), pcs.data(), references.size(), words.data(), counts};
  }
};

uint64_t random_base(std::mt19937_64& random) {
  return random() % 16 == 0 ? random() % (1 << 20) : 4096 * (random() % 4) + random() % 600;
}

Execution random_execution(std::mt19937_64& random, uint32_t line_bytes) {
  Execution e;
  e.words = {7, random_base(random), random_base(random), random() % 8};
  uint64_t pc = 4096 * (random() % 3) + random() % 256;
  for (uint64_t left = random() % 12 + 1; left != 0; --left, pc += random() % 8) {
    const uint64_t dice = random() % 64;
    auto kind = ReferenceKind::kLoad;
    if (dice < 16)
      kind = ReferenceKind::kFetch;
    else if (dice < 32)
      kind = ReferenceKind::kStore;
    else if (dice < 36)
      kind = static_cast<ReferenceKind>(3 + dice % 5);  // modifications, prefetches, flushes, non-temporal ones
    e.pcs.push_back(pc);
    if (kind == ReferenceKind::kFetch) {
      e.references.push_back({static_cast<int64_t>(pc / line_bytes) - 14, 0, 0, 1, 0, kind});
      ++e.counts.fetches;
      continue;
    }
    e.references.push_back({static_cast<int64_t>(random() % 80), static_cast<uint16_t>(1 + random() % 2), 3,
                            static_cast<uint16_t>(random() % 8 == 0 ? 100 : 8), 3, kind});
    channel::ThreadStatistics one;
    channel::count_reference(one, kind);
    const bool modifies = kind == ReferenceKind::kReadModifyWrite;
    e.counts.modifications += modifies;
    e.counts.loads += static_cast<uint32_t>(one.loads) - modifies;
    e.counts.stores += static_cast<uint32_t>(one.stores) - modifies;
  }
  return e;
}

template <class Sink>
void expect_equal_counts(const sim::MachineConfig& machine, std::mt19937_64& random) {
  sim::Hierarchy at_once(machine), one_by_one(machine);
  Sink paths(at_once), references(one_by_one);
  for (uint32_t turn = 0; turn < 60; ++turn) {
    channel::ThreadReport thread;
    thread.index = turn % 5, thread.core = static_cast<uint32_t>(random() % machine.cores);
    thread.process = turn % 7 == 0;
    const uint32_t handle = paths.run_on(thread);
    ASSERT_EQ(references.run_on(thread), handle);
    for (uint64_t left = random() % 40; left != 0; --left) {
      const Execution e = random_execution(random, machine.line_bytes);
      paths.plain(handle, e.plain());
      for (size_t i = 0; i < e.references.size(); ++i) {
        const Reference& r = e.references[i];
        channel::put(references, handle, r.kind, channel::evaluate(r, e.words.data()), r.bytes, e.pcs[i]);
      }
    }
  }
  EXPECT_TRUE(at_once.statistics() == one_by_one.statistics());
  std::string why;
  EXPECT_TRUE(at_once.check_invariants(&why)) << why;
}

// A repeated string instruction: one or two operands, upwards or downwards, some of them astride lines.
struct StringInstruction {
  std::vector<channel::StringReference> first;
  int64_t step;
  uint64_t iterations;
  uint64_t pc;
};

StringInstruction random_string(std::mt19937_64& random) {
  StringInstruction s;
  const uint32_t bytes = 1u << random() % 4;
  s.step = random() % 2 == 0 ? bytes : -static_cast<int64_t>(bytes);
  s.iterations = random() % 200;
  s.pc = 4096 + random() % 4 * 256;  // they share places of a table of 256
  const auto kind = random() % 2 == 0 ? ReferenceKind::kLoad : ReferenceKind::kStore;
  s.first.push_back({kind, 4096 + random_base(random), bytes});
  if (random() % 2 == 0) s.first.push_back({ReferenceKind::kStore, 4096 + random_base(random), bytes});
  return s;
}

// `at_once`: by iterations(), where that takes any. Returns how many it took.
template <class Sink>
uint64_t make_string(Sink& sink, uint32_t handle, StringInstruction s, bool at_once) {
  uint64_t sum = 0;
  while (s.iterations != 0) {
    uint64_t taken = at_once ? sink.iterations(handle, s.first, s.step, s.iterations, s.pc) : 0;
    EXPECT_LE(taken, s.iterations);
    sum += taken;
    if (taken == 0) {
      for (const channel::StringReference& r : s.first) channel::put_data(sink, handle, r.kind, r.address, r.bytes, s.pc);
      taken = 1;
    }
    s.iterations -= taken;
    for (channel::StringReference& r : s.first) r.address += taken * static_cast<uint64_t>(s.step);
  }
  return sum;
}

// Returns how many iterations were taken at once.
template <class Sink>
uint64_t expect_equal_strings(const sim::MachineConfig& machine, std::mt19937_64& random) {
  sim::Hierarchy at_once(machine), one_by_one(machine);
  Sink strings(at_once), references(one_by_one);
  uint64_t taken = 0;
  for (uint32_t turn = 0; turn < 30; ++turn) {
    channel::ThreadReport thread;
    thread.index = turn % 5, thread.core = static_cast<uint32_t>(random() % machine.cores);
    thread.process = turn % 7 == 0;
    const uint32_t handle = strings.run_on(thread);
    EXPECT_EQ(references.run_on(thread), handle);
    for (uint64_t left = random() % 10; left != 0; --left) {
      const StringInstruction s = random_string(random);
      taken += make_string(strings, handle, s, true);
      make_string(references, handle, s, false);
    }
  }
  EXPECT_TRUE(at_once.statistics() == one_by_one.statistics());
  std::string why;
  EXPECT_TRUE(at_once.check_invariants(&why)) << why;
  return taken;
}

TEST(ModelSink, IterationsOfStringsCountAsTheirReferences) {
  uint64_t taken = 0, taken_by_watched = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    std::mt19937_64 random(seed);
    const sim::MachineConfig machine =
        seed % 2 == 0 ? sim::random_machine_with_policies(random) : sim::random_machine_with_everything(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + sim::describe(machine));
    const sim::Hierarchy model(machine);
    if (model.wants_pc())
      taken_by_watched += expect_equal_strings<PcModelSink<sim::Hierarchy>>(machine, random);
    else
      taken += expect_equal_strings<ModelSink>(machine, random);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(taken, 100000u);
  EXPECT_GT(taken_by_watched, 10000u);
}

TEST(ModelSink, PathsCountAsTheirReferences) {
  uint64_t with_tlb = 0, with_prefetchers = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const sim::MachineConfig machine =
        seed % 4 == 0 ? sim::random_machine_with_policies(random) : sim::random_machine_with_everything(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + sim::describe(machine));
    const sim::Hierarchy model(machine);
    with_tlb += machine.tlb.has_value(), with_prefetchers += model.wants_pc();
    if (model.wants_pc())
      expect_equal_counts<PcModelSink<sim::Hierarchy>>(machine, random);
    else
      expect_equal_counts<ModelSink>(machine, random);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(with_tlb, 25u);
  EXPECT_GT(with_prefetchers, 25u);
}

}  // namespace
}  // namespace simrun::cli
