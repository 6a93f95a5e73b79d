// One machine in slices by several host threads, many machines over one stream, the miss curve: references per second
// as the one who has the references sees them (waiting for the threads included); the processor time is that of all
// threads.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "bench/sim/streams.h"
#include "sim/curves/curve_model.h"
#include "sim/parallel/model_sweep.h"
#include "sim/parallel/sliced_model.h"

namespace simrun::sim {
namespace {

enum StreamKind : int64_t { kShared = 3, kScan = 4 };

uint32_t cores_of(int64_t kind) { return kind == kShared ? 8 : 1; }

std::vector<Reference> stream_of(int64_t kind) {
  std::mt19937_64 random(1);
  if (kind == 0) return mixed_stream(random);
  if (kind == kShared) return shared_stream(random);
  if (kind == kScan) return scan_stream();
  return random_stream(random, kind == 1 ? 256 << 10 : 8 << 20);
}

const char* const kStreams[] = {"hits", "256 KiB", "8 MiB", "shared by 8 cores", "scan of 16 KiB"};

template <class Model>
void run(benchmark::State& state, Model& model, const std::vector<Reference>& stream) {
  const auto replay = [&] {  // the cores in turns
    constexpr size_t kTurn = 1024;
    uint32_t core = 0;
    for (size_t from = 0; from < stream.size(); from += kTurn) {
      const size_t to = std::min(from + kTurn, stream.size());
      for (size_t i = from; i < to; ++i) model.access_line(core, stream[i].kind, stream[i].line);
      core = core + 1 == model.cores() ? 0 : core + 1;
    }
  };
  replay();
  const size_t rounds = (size_t{1} << 21) / stream.size() + 1;  // to wait but rarely
  for (auto _ : state) {
    for (size_t round = 0; round < rounds; ++round) replay();
    benchmark::DoNotOptimize(model.statistics());  // waits
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * rounds * stream.size()));
}

// Threads that simulate; 0: a plain Hierarchy in the thread that has the references.
void slices(benchmark::State& state) {
  const std::vector<Reference> stream = stream_of(state.range(1));
  state.SetLabel(kStreams[state.range(1)]);
  if (state.range(0) == 0) {
    Hierarchy model(machine(cores_of(state.range(1))));
    return run(state, model, stream);
  }
  SlicedModel model(machine(cores_of(state.range(1))), static_cast<uint32_t>(state.range(0)));
  run(state, model, stream);
}
BENCHMARK(slices)
    ->ArgNames({"threads", "stream"})
    ->ArgsProduct({{0, 1, 2, 4}, {0, 1, 2, kShared, kScan}})
    ->MeasureProcessCPUTime()
    ->UseRealTime();

// The two steps of the slices' threads on one batch, alone: what they cost divided by the threads, and what the one who
// has the references pays, bound what the slices can do.
class Steps {
 public:
  static constexpr uint32_t kSlices = 2;
  explicit Steps(int64_t kind) : filter_(machine(1), kSlices) {
    for (uint32_t i = 0; i < kSlices; ++i) {
      models_.push_back(std::make_unique<Hierarchy>(machine(1), Slice{kSlices, i}));
      replays_.emplace_back(*models_[i], i, kSlices);
    }
    const std::vector<Reference> stream = stream_of(kind);
    for (size_t at = 0; at + Batch::kReferences <= stream.size(); at += Batch::kReferences) {
      Batch& batch = batches_.emplace_back();
      for (size_t i = 0; i < Batch::kReferences; ++i)
        batch.raw.push_back(pack(stream[at + i].line, stream[at + i].kind));
      batch.size = Batch::kReferences, batch.segments.resize(1), batch.slices.resize(kSlices);
    }
    filter();
  }
  void filter() {
    for (Batch& batch : batches_) filter_.run(batch);
  }
  void replay() {
    for (GroupReplay& replay : replays_)
      for (const Batch& batch : batches_) replay.run(batch);
  }
  int64_t references() const { return static_cast<int64_t>(batches_.size() * Batch::kReferences); }

 private:
  HitFilter filter_;
  std::vector<std::unique_ptr<Hierarchy>> models_;
  std::vector<GroupReplay> replays_;
  std::vector<Batch> batches_;
};

template <void (Steps::*step)()>
void step_of_slices(benchmark::State& state) {
  Steps steps(state.range(0));
  state.SetLabel(kStreams[state.range(0)]);
  for (auto _ : state) (steps.*step)();
  state.SetItemsProcessed(state.iterations() * steps.references());
}
BENCHMARK(step_of_slices<&Steps::filter>)->ArgName("stream")->DenseRange(0, 1);
BENCHMARK(step_of_slices<&Steps::replay>)->ArgName("stream")->DenseRange(0, 1);

void sweep(benchmark::State& state) {
  const std::vector<Reference> stream = stream_of(0);
  std::vector<MachineConfig> machines(static_cast<size_t>(state.range(0)), machine(1));
  ModelSweep model(machines, static_cast<uint32_t>(state.range(1)));
  run(state, model, stream);
}
BENCHMARK(sweep)
    ->ArgNames({"machines", "threads"})
    ->ArgsProduct({{1, 2, 4, 8}, {1, 2}})
    ->MeasureProcessCPUTime()
    ->UseRealTime();

void miss_curve(benchmark::State& state) {
  const std::vector<Reference> stream = stream_of(state.range(0));
  state.SetLabel(kStreams[state.range(0)]);
  CurveModel model(machine(1), "L1D");
  run(state, model, stream);
}
BENCHMARK(miss_curve)->ArgName("stream")->DenseRange(0, 2);

}  // namespace
}  // namespace simrun::sim
