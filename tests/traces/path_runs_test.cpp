// Paths of a trace in a row, hot ones as code, or made into references by the threads of slices or of a sweep, count what their
// references count one by one: over random code and streams, from anywhere to anywhere, looked at amid it.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>

#include "cli/slices_sink.h"
#include "cli/sweep_sink.h"
#include "cli/trace_model_sink.h"
#include "sim/hierarchy.h"
#include "sim/parallel/model_sweep.h"
#include "sim/parallel/sliced_model.h"
#include "tests/sim/machines.h"
#include "tests/traces/made_trace.h"
#include "traces/replay.h"

namespace simrun {
namespace {

// A hierarchy of which a sink knows nothing but how to make references.
class OneByOne {
 public:
  explicit OneByOne(const sim::MachineConfig& machine) : model_(machine) {}
  uint32_t cores() const { return model_.cores(); }
  uint32_t line_bytes() const { return model_.line_bytes(); }
  void run_thread(uint32_t core, uint32_t thread) { model_.run_thread(core, thread); }
  void access_line(uint32_t core, sim::Access kind, uint64_t line) { model_.access_line(core, kind, line); }
  void access_further_line(uint32_t core, sim::Access kind, uint64_t line) {
    model_.access_further_line(core, kind, line);
  }
  void access(uint32_t core, sim::Access kind, uint64_t address, uint32_t bytes) {
    model_.access(core, kind, address, bytes);
  }
  sim::Statistics statistics() const { return model_.statistics(); }

 private:
  sim::Hierarchy model_;
};

struct Span {
  uint64_t from = 0, to = std::numeric_limits<uint64_t>::max(), look_every = 0;
};

struct Look {
  uint64_t instructions;
  sim::Statistics statistics;
  bool operator==(const Look&) const = default;
};

struct Counted {
  std::vector<Look> looks;  // the last one at the end
  std::map<uint32_t, traces::Counts> threads;
  uint64_t runs = 0;  // that the sink took
};

template <class Inner>
class CountingRuns : public cli::TraceModelSink<Inner> {
 public:
  using cli::TraceModelSink<Inner>::TraceModelSink;
  bool take_paths(traces::PathRun& run) requires requires(cli::TraceModelSink<Inner>& s) { s.take_paths(run); } {
    const bool taken = cli::TraceModelSink<Inner>::take_paths(run);
    runs += taken && run.paths != 0;
    return taken;
  }
  uint64_t runs = 0;
};

sim::Statistics statistics_of(auto& model) { return model.statistics(); }
// Of one machine, several times.
sim::Statistics statistics_of(sim::ModelSweep& sweep) {
  const std::vector<sim::Statistics> all = sweep.statistics();
  for (const sim::Statistics& one : all) EXPECT_TRUE(one == all[0]);
  return all[0];
}

template <class Inner, class Model>
Counted replay(const traces::Reader& trace, Model& model, const Span& span) {
  Counted counted;
  const size_t first = trace.chunk_of(span.from);
  cli::TraceMemory memory(trace, first);
  Inner inner(model, memory.names());
  inner.set_room_for_code({.executions = 5});
  CountingRuns<Inner> sink(inner, trace, model.cores(), model.line_bytes(), memory, false);
  traces::Replay<CountingRuns<Inner>> replay(trace, sink, model.line_bytes());
  sink.set_instructions([&](uint32_t thread) { return replay.threads().at(thread).counts.instructions; });
  if (span.look_every != 0)
    replay.set_look(span.look_every, [&](uint64_t instructions) {
      counted.looks.push_back({instructions, statistics_of(model)});
      return instructions + span.look_every;
    });
  for (size_t i = first; i < trace.chunks().size(); ++i) replay.run(trace.read_chunk(i), span.from, span.to);
  counted.looks.push_back({replay.replayed(), statistics_of(model)});
  for (const auto& [index, thread] : replay.threads()) counted.threads[index] = thread.counts;
  counted.runs = sink.runs;
  return counted;
}

class PathRuns : public ::testing::Test {
 protected:
  void compare(const traces::Reader& trace, const sim::MachineConfig& machine, const Span& span) {
    SCOPED_TRACE(fmt::format("{} to {}, looked at every {}: {}", span.from, span.to, span.look_every,
                             sim::describe(machine)));
    OneByOne one_by_one(machine);
    const Counted expected = replay<cli::BasicModelSink<OneByOne>>(trace, one_by_one, span);
    ASSERT_EQ(expected.runs, 0u);
    sim::Hierarchy together(machine);
    expect_equal(replay<cli::ModelSink>(trace, together, span), expected);
    sim::ModelSweep sweep(std::vector<sim::MachineConfig>(7, machine), 2);  // four by one thread, filtered if they can be
    expect_equal(replay<cli::SweepSink>(trace, sweep, span), expected);
    if (!sim::SlicedModel::find_obstacle(machine, 2).empty()) return;
    sim::SlicedModel sliced(machine, 2);
    expect_equal(replay<cli::SlicesSink>(trace, sliced, span), expected);
  }

  uint64_t runs_ = 0;  // of the case

 private:
  void expect_equal(const Counted& counted, const Counted& expected) {
    EXPECT_EQ(counted.threads, expected.threads);
    ASSERT_EQ(counted.looks.size(), expected.looks.size());
    const auto differs = [](const Look& a, const Look& b) { return !(a == b); };
    const auto [a, b] = std::ranges::mismatch(counted.looks, expected.looks, std::not_fn(differs));
    EXPECT_EQ(a, counted.looks.end()) << "at " << a->instructions << " instructions, expected " << b->instructions;
    runs_ += counted.runs;
  }
};

TEST_F(PathRuns, CountWhatTheirReferencesCount) {
  traces::ScratchDirectory scratch;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    runs_ = 0;
    std::mt19937_64 random(seed);
    const auto threads = static_cast<uint32_t>(seed % 3 == 0 ? 3 : 1);
    traces::write_made_trace(scratch.file("t"), seed, threads, 8, {.workers = 2}, 250);
    const traces::Reader trace(scratch.file("t"));
    const uint64_t instructions = trace.instructions();
    sim::MachineConfig machine = sim::small_machine(4);
    if (seed % 4 == 1) machine = sim::random_machine_with_policies(random);
    if (seed % 4 == 2) machine.line_bytes = 32;
    compare(trace, machine, {});
    compare(trace, machine, {random() % instructions, instructions - random() % 100, 0});
    const uint64_t from = random() % (instructions / 2);
    compare(trace, machine, {from, from + random() % (instructions / 2), 100 + random() % 2000});
    EXPECT_GT(runs_, 100u) << threads << " threads";
  }
}

}  // namespace
}  // namespace simrun
