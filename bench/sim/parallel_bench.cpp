// One machine in slices by several host threads, many machines over one stream, the miss curve: references per second
// as the one who has the references sees them (waiting for the threads included); the processor time is that of all
// threads.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "bench/sim/streams.h"
#include "sim/curves/curve_model.h"
#include "sim/parallel/model_sweep.h"
#include "sim/parallel/sliced_model.h"

namespace simrun::sim {
namespace {

std::vector<Reference> stream_of(int64_t kind) {
  std::mt19937_64 random(1);
  if (kind == 0) return mixed_stream(random);
  return random_stream(random, kind == 1 ? 256 << 10 : 8 << 20);
}

const char* const kStreams[] = {"hits", "256 KiB", "8 MiB"};

template <class Model>
void run(benchmark::State& state, Model& model, const std::vector<Reference>& stream) {
  for (const Reference& r : stream) model.access_line(0, r.kind, r.line);
  const size_t rounds = (size_t{1} << 21) / stream.size() + 1;  // to wait but rarely
  for (auto _ : state) {
    for (size_t round = 0; round < rounds; ++round)
      for (const Reference& r : stream) model.access_line(0, r.kind, r.line);
    benchmark::DoNotOptimize(model.statistics());  // waits
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * rounds * stream.size()));
}

// Threads that simulate; 0: a plain Hierarchy in the thread that has the references.
void slices(benchmark::State& state) {
  const std::vector<Reference> stream = stream_of(state.range(1));
  state.SetLabel(kStreams[state.range(1)]);
  if (state.range(0) == 0) {
    Hierarchy model(machine(1));
    return run(state, model, stream);
  }
  SlicedModel model(machine(1), static_cast<uint32_t>(state.range(0)));
  run(state, model, stream);
}
BENCHMARK(slices)
    ->ArgNames({"threads", "stream"})
    ->ArgsProduct({{0, 1, 2, 4}, {0, 1, 2}})
    ->MeasureProcessCPUTime()
    ->UseRealTime();

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
