// Translation of a stretch of libc (qsort, printf and what follows), superblock after superblock.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/check.h"
#include "instr/engine/translate/address_space.h"
#include "instr/engine/translate/translator.h"

namespace simrun::engine {
namespace {

// Starts of superblocks, each where the one before ended.
std::vector<AppAddress> starts() {
  CHECK(read_address_space() == 0);
  std::vector<AppAddress> found;
  DecodedSuperblock superblock;
  AppAddress at{reinterpret_cast<uint64_t>(&std::vprintf)};
  while (found.size() < 2000) {
    form_superblock(at, kMaxSuperblockInstructions, superblock);
    if (superblock.count == 0) {
      at = at + 1;
      continue;
    }
    found.push_back(at);
    const Instruction& last = superblock.instructions[superblock.count - 1];
    at = last.pc + last.length;
  }
  return found;
}

void form(benchmark::State& state) {
  const auto all = starts();
  DecodedSuperblock superblock;
  size_t k = 0, instructions = 0;
  for (auto _ : state) {
    form_superblock(all[k++ % all.size()], kMaxSuperblockInstructions, superblock);
    instructions += superblock.count;
  }
  state.counters["superblocks"] = benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["instructions"] = benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}
BENCHMARK(form);

void translate(benchmark::State& state) {
  const auto all = starts();
  Translator translator({.mode = state.range(0) != 0 ? border::Mode::kTrace : border::Mode::kNull, .leave = 0x7ffff8000040});
  TranslationOutput output;
  DecodedSuperblock superblock;
  std::vector<uint8_t> hot(1 << 20), cold(1 << 20);
  size_t k = 0;
  for (auto _ : state) {
    form_superblock(all[k++ % all.size()], kMaxSuperblockInstructions, superblock);
    Assembler out(hot.data(), 0x7ffff8010000), out_cold(cold.data(), 0x7ffffa000000);
    translator.translate(superblock, Purpose::kOrdinary, entry_liveness(superblock, true).flags_dead, 1000, 16, out, out_cold, output);
    benchmark::DoNotOptimize(output.size);
  }
  state.counters["superblocks"] = benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(translate)->ArgName("trace")->Arg(0)->Arg(1);

}  // namespace
}  // namespace simrun::engine
