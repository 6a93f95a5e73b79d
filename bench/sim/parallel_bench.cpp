// One machine in slices by several host threads, many machines over one stream, the miss curve: references per second
// as the one who has the references sees them (waiting for the threads included); the processor time is that of all
// threads.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "bench/sim/streams.h"
#include "sim/curves/curve_model.h"
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

// The two steps that threads divide, alone, a reference: filtering, and what the slices do with what is left.
class Steps {
 public:
  static constexpr uint32_t kSlices = 2;
  explicit Steps(int64_t kind) : filter_(std::array{machine(1)}), stream_(stream_of(kind)) {
    for (uint32_t i = 0; i < kSlices; ++i) {
      models_.push_back(std::make_unique<Hierarchy>(machine(1), Slice{kSlices, i}));
      replays_.emplace_back(*models_[i], i, kSlices);
    }
    filter();
  }
  void filter() {
    size_t batch = 0;
    for (const Reference& r : stream_) {
      const Cache::Shortcut& shortcut = filter_.shortcut(r.kind == Access::kFetch);
      Cache::Recent& recent = shortcut.find(r.line);
      if (recent.answers(r.line, is_write(r.kind)))
        recent.used = ++*shortcut.clock;
      else
        filter_.put(r.kind, r.line);
      if (filter_.is_full()) end(batch++);
    }
    end(batch);
  }
  double listed() const {
    uint64_t sum = 0;
    for (const Batch& batch : batches_) sum += batch.groups.back().end;
    return static_cast<double>(sum) / static_cast<double>(stream_.size());
  }
  void replay() {
    for (GroupReplay& replay : replays_)
      for (const Batch& batch : batches_) replay.run(batch);
  }
  int64_t references() const { return static_cast<int64_t>(stream_.size()); }

 private:
  void end(size_t batch) {
    if (batch == batches_.size()) batches_.emplace_back();
    batches_[batch].groups.resize(1);
    batches_[batch].groups[0].filtered = true;
    filter_.end_group(batches_[batch].groups[0]);
    filter_.take(batches_[batch]);
  }

  HitFilter filter_;
  std::vector<Reference> stream_;
  std::vector<std::unique_ptr<Hierarchy>> models_;
  std::vector<GroupReplay> replays_;
  std::deque<Batch> batches_;
};

template <void (Steps::*step)()>
void step_of_slices(benchmark::State& state) {
  Steps steps(state.range(0));
  state.counters["listed"] = steps.listed();
  state.SetLabel(kStreams[state.range(0)]);
  for (auto _ : state) (steps.*step)();
  state.SetItemsProcessed(state.iterations() * steps.references());
}
BENCHMARK(step_of_slices<&Steps::filter>)->ArgName("stream")->DenseRange(0, 4);
BENCHMARK(step_of_slices<&Steps::replay>)->ArgName("stream")->DenseRange(0, 4);

void miss_curve(benchmark::State& state) {
  const std::vector<Reference> stream = stream_of(state.range(0));
  state.SetLabel(kStreams[state.range(0)]);
  CurveModel model(machine(1), "L1D");
  run(state, model, stream);
}
BENCHMARK(miss_curve)->ArgName("stream")->DenseRange(0, 2);

}  // namespace
}  // namespace simrun::sim
