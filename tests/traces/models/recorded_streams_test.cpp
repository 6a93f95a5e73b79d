// The recorded streams of real programs with several threads: the fast model and slices count what the reference model
// counts, to the last event.
#include "cli/trace_model_sink.h"
#include "sim/hierarchy.h"
#include "sim/parallel/sliced_model.h"
#include "tests/sim/machines.h"
#include "tests/sim/reference_model.h"
#include "tests/traces/record_command.h"

namespace simrun {
namespace {

// One stream into all of them; what a sink asks of a model.
class AllModels {
 public:
  explicit AllModels(const sim::MachineConfig& machine) : reference_(machine), fast_(machine), sliced_(machine, 2) {}
  uint32_t cores() const { return fast_.cores(); }
  uint32_t line_bytes() const { return fast_.line_bytes(); }
  void run_thread(uint32_t core, uint32_t thread) { fast_.run_thread(core, thread), sliced_.run_thread(core, thread); }
  void access_line(uint32_t core, sim::Access kind, uint64_t line) {
    reference_.access_line(core, kind, line), fast_.access_line(core, kind, line),
        sliced_.access_line(core, kind, line);
  }
  void access_further_line(uint32_t, sim::Access, uint64_t) { FAIL() << "only several processes have such references"; }
  void access(uint32_t core, sim::Access kind, uint64_t address, uint32_t bytes) {
    reference_.access(core, kind, address, bytes), fast_.access(core, kind, address, bytes);
    sliced_.access(core, kind, address, bytes);
  }
  void expect_equal() {
    const sim::Statistics reference = reference_.statistics(), fast = fast_.statistics();
    EXPECT_TRUE(fast.levels == reference.levels);
    EXPECT_TRUE(fast.cores == reference.cores);
    EXPECT_TRUE(fast.transfers == reference.transfers);
    EXPECT_TRUE(fast.memory == reference.memory);
    EXPECT_TRUE(fast == sliced_.statistics());
    EXPECT_GT(fast.cores.at(0).loads, 1000u);
    EXPECT_GT(fast.cores.at(1).loads, 1000u) << "one thread only?";
    EXPECT_GT(fast.levels.back().total.requests.misses.demand(), 0u);
  }

 private:
  sim::ReferenceModel reference_;
  sim::Hierarchy fast_;
  sim::SlicedModel sliced_;
};

class RecordedStreams : public RecordCommand {
 protected:
  void compare(const std::string& trace_file, const sim::MachineConfig& machine) {
    SCOPED_TRACE(machine.name);
    using Sink = cli::TraceModelSink<cli::BasicModelSink<AllModels>>;
    AllModels models(machine);
    const traces::Reader trace(trace_file);
    cli::TraceMemory memory(trace, 0);
    cli::BasicModelSink<AllModels> inner(models, memory.names());
    Sink sink(inner, trace, machine.cores, machine.line_bytes, memory, false);
    traces::Replay<Sink> replay(trace, sink, machine.line_bytes, {});
    sink.set_instructions([&](uint32_t thread) { return replay.threads().at(thread).counts.instructions; });
    for (size_t i = 0; i < trace.chunks().size(); ++i) replay.run(trace.read_chunk(i), 0, ~uint64_t{0});
    models.expect_equal();
  }
};

TEST_F(RecordedStreams, EqualTheReferenceModel) {
  simrun(fmt::format("record -q -o {} -- {} 10 3", file("t"), MARKED_PROGRAM));
  sim::MachineConfig machine = sim::small_machine(4);
  compare(file("t"), machine);
  machine.name = "moesi, victim L3, tree-plru L2", machine.coherence = sim::Coherence::kMoesi;
  machine.levels[1].replacement = sim::Replacement::kTreePlru;
  machine.levels[2].inclusion = sim::Inclusion::kExclusive;
  compare(file("t"), machine);
}

}  // namespace
}  // namespace simrun
