// Line accesses per second through Hierarchy::access_line, on streams that end in each level. Streams are made before
// the clock starts; figures of a named machine are in docs/cache-model.md.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "bench/sim/streams.h"
#include "configs/read_machine.h"
#include "sim/hierarchy.h"

namespace simrun::sim {
namespace {

void run(benchmark::State& state, Hierarchy& hierarchy, const std::vector<Reference>& stream) {
  for (const Reference& r : stream) hierarchy.access_line(0, r.kind, r.line);  // warm
  for (auto _ : state)
    for (const Reference& r : stream) hierarchy.access_line(0, r.kind, r.line);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * stream.size()));
}

// 8-byte loads in order over `bytes`: eight to a line.
void sequential(benchmark::State& state) {
  const uint64_t bytes = static_cast<uint64_t>(state.range(0)) << 10;
  std::vector<Reference> stream;
  for (uint64_t a = 0; a < bytes; a += 8) stream.push_back({a / kLine, Access::kLoad});
  Hierarchy hierarchy(machine(1));
  run(state, hierarchy, stream);
}
BENCHMARK(sequential)->ArgName("KiB")->Arg(16)->Arg(256)->Arg(8 << 10)->Arg(64 << 10);

// Random lines of a working set, a quarter of them stores.
void random_lines(benchmark::State& state) {
  std::mt19937_64 random(1);
  const std::vector<Reference> stream = random_stream(random, static_cast<uint64_t>(state.range(0)) << 10);
  Hierarchy hierarchy(machine(1));
  run(state, hierarchy, stream);
}
BENCHMARK(random_lines)->ArgName("KiB")->Arg(16)->Arg(256)->Arg(8 << 10)->Arg(64 << 10);

// The same on machines as they are built, with TLBs, prefetchers and other levels 3.
void random_lines_of(benchmark::State& state, const char* name) {
  std::mt19937_64 random(1);
  const std::vector<Reference> stream = random_stream(random, static_cast<uint64_t>(state.range(0)) << 10);
  Hierarchy hierarchy(configs::read_machine(name));
  run(state, hierarchy, stream);
}
BENCHMARK_CAPTURE(random_lines_of, ryzen, "amd_ryzen_7950x")->ArgName("KiB")->Arg(256)->Arg(8 << 10);
BENCHMARK_CAPTURE(random_lines_of, i9, "intel_i9_13900k")->ArgName("KiB")->Arg(256)->Arg(8 << 10);
BENCHMARK_CAPTURE(random_lines_of, a53, "arm_cortex_a53")->ArgName("KiB")->Arg(256)->Arg(8 << 10);

// A program's own pattern: c += a * b over n x n doubles, loops i, k, j, with its fetches (a line of code per inner
// round).
void matrix_multiply(benchmark::State& state) {
  const auto n = static_cast<uint64_t>(state.range(0));
  constexpr uint64_t kA = 1 << 20, kB = 2 << 20, kC = 3 << 20, kCode = 4 << 20;  // byte addresses
  std::vector<Reference> stream;
  for (uint64_t i = 0; i < n; ++i)
    for (uint64_t k = 0; k < n; ++k) {
      stream.push_back({(kA + 8 * (i * n + k)) / kLine, Access::kLoad});
      for (uint64_t j = 0; j < n; ++j) {
        stream.push_back({kCode / kLine, Access::kFetch});
        stream.push_back({(kB + 8 * (k * n + j)) / kLine, Access::kLoad});
        stream.push_back({(kC + 8 * (i * n + j)) / kLine, Access::kReadModifyWrite});
      }
    }
  Hierarchy hierarchy(machine(1));
  run(state, hierarchy, stream);
}
BENCHMARK(matrix_multiply)->ArgName("n")->Arg(40)->Arg(64);

void mixed_hits(benchmark::State& state) {
  std::mt19937_64 random(2);
  const std::vector<Reference> stream = mixed_stream(random);
  Hierarchy hierarchy(machine(1));
  run(state, hierarchy, stream);
}
BENCHMARK(mixed_hits);

// Cores store to one line in turn: every access is a transfer.
void ping_pong(benchmark::State& state) {
  const auto cores = static_cast<uint32_t>(state.range(0));
  Hierarchy hierarchy(machine(cores));
  uint32_t core = 0;
  for (auto _ : state) {
    for (int i = 0; i < 1000; ++i) {
      hierarchy.access_line(core, Access::kStore, 1234);
      core = core + 1 == cores ? 0 : core + 1;
    }
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(ping_pong)->ArgName("cores")->Arg(2)->Arg(8);

// All cores read a set of lines that one of them writes now and then.
void read_mostly_sharing(benchmark::State& state) {
  const auto cores = static_cast<uint32_t>(state.range(0));
  Hierarchy hierarchy(machine(cores));
  std::mt19937_64 random(3);
  std::vector<Reference> stream(kStream);
  for (Reference& r : stream) r = {random() % 256, random() % 64 == 0 ? Access::kStore : Access::kLoad};
  for (auto _ : state)
    for (size_t i = 0; i < stream.size(); ++i)
      hierarchy.access_line(static_cast<uint32_t>(i * 7 % cores), stream[i].kind, stream[i].line);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * stream.size()));
}
BENCHMARK(read_mostly_sharing)->ArgName("cores")->Arg(8);

// Growth with the cores: each works on lines of its own, a turn of 1000 references at a time.
void growth_with_cores(benchmark::State& state) {
  const auto cores = static_cast<uint32_t>(state.range(0));
  std::mt19937_64 random(4);
  const std::vector<Reference> stream = mixed_stream(random);
  Hierarchy hierarchy(machine(cores));
  uint64_t core = 0;
  uint32_t left = 1000;
  for (auto _ : state)
    for (const Reference& r : stream) {
      if (left-- == 0) left = 999, core = core + 1 == cores ? 0 : core + 1;
      hierarchy.access_line(static_cast<uint32_t>(core), r.kind, r.line | core << 30);
    }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * stream.size()));
}
BENCHMARK(growth_with_cores)->ArgName("cores")->Arg(1)->Arg(8)->Arg(16)->Arg(64);

// Growth with the levels: 32 KiB, 256 KiB, 2 MiB, 16 MiB; lines of 8 MiB at random miss in nearly all but the last.
void growth_with_levels(benchmark::State& state) {
  MachineConfig m = machine(1);
  m.levels.resize(1);
  for (int64_t level = 1; level < state.range(0); ++level) {
    LevelConfig next;
    next.name = "L" + std::to_string(level + 1);
    next.unified = {uint64_t{32 << 10} << 3 * level, 8, 10};
    m.levels.push_back(next);
  }
  std::mt19937_64 random(5);
  const std::vector<Reference> stream = random_stream(random, 8 << 20);
  Hierarchy hierarchy(m);
  run(state, hierarchy, stream);
}
BENCHMARK(growth_with_levels)->ArgName("levels")->DenseRange(1, 4);

}  // namespace
}  // namespace simrun::sim
