// The merge without a model: rings full of a hit-dominated mix, replayed into sinks that do next to nothing. What is
// measured is the cost of reading words, looking paths up, evaluating references and choosing whose turn it is.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <vector>

#include "instr/channel/counting_sink.h"
#include "instr/channel/drain.h"
#include "instr/channel/merge.h"
#include "tests/channel/fake_target.h"

namespace simrun::channel {
namespace {

using border::OperandKind;

// Takes every reference and keeps a checksum, so that evaluating it cannot be left out.
class ChecksumSink final {
 public:
  static constexpr bool kWantsReferences = true;
  uint32_t start_thread(const ThreadReport& thread) { return thread.index; }
  void fetch(uint32_t, uint64_t line) { sum_ += line, ++references_; }
  void data(uint32_t handle, ReferenceKind, uint64_t address, uint32_t bytes) {
    sum_ += address ^ bytes ^ handle, ++references_;
  }
  uint64_t references() const { return references_; }
  uint64_t sum() const { return sum_; }

 private:
  uint64_t sum_ = 0, references_ = 0;
};

// 16 paths per thread of 6 to 21 instructions, every third with an operand, one address word for two operands (what the
// translator makes of ordinary code); `fill` repeats them until the rings hold `chunks` chunks.
class FilledTarget {
 public:
  FilledTarget(uint32_t threads, uint32_t chunk_bytes, uint32_t chunks)
      : target_(chunk_bytes, chunks), threads_(threads) {
    for (uint32_t p = 0; p < 16; ++p) {
      std::vector<FakeInstruction> instructions(6 + p);
      uint16_t words = 0;
      for (size_t i = 0, operands = 0; i < instructions.size(); i += 3, ++operands) {
        if (operands % 2 == 0) ++words;
        const OperandKind kind = operands % 3 == 2 ? OperandKind::kStore : OperandKind::kLoad;
        instructions[i].operands.push_back(address_operand(kind, words, 8, static_cast<int64_t>(i) * 8));
      }
      words_.push_back(words);
      paths_.push_back(target_.add_path(0x400000 + p * 128, instructions, words));
    }
    for (uint32_t t = 0; t < threads; ++t) producers_.push_back(std::make_unique<Producer>(target_, t, t + 1));
    for (uint32_t t = 0; t < threads; ++t) fill(t, uint64_t{chunk_bytes} / 8 * (chunks - 1) - 64);
  }
  FakeTarget& target() { return target_; }

 private:
  void fill(uint32_t t, uint64_t words) {
    Producer& producer = *producers_[t];
    producer.start();
    uint64_t put = 0;
    for (uint32_t i = 0; put < words; ++i) {
      std::array<uint64_t, 16> some;
      const uint32_t p = i * 7 % 16;
      some[0] = paths_[p];
      for (uint32_t w = 1; w <= words_[p]; ++w) some[w] = 0x7fff0000 + i % 1024 * 64 + w * 8;
      producer.put(some.data(), 1 + words_[p]);
      put += 1 + words_[p];
    }
  }

  FakeTarget target_;
  uint32_t threads_;
  std::vector<uint32_t> paths_;
  std::vector<uint16_t> words_;
  std::vector<std::unique_ptr<Producer>> producers_;
};

template <class Sink>
void replay_all(benchmark::State& state) {
  const auto threads = static_cast<uint32_t>(state.range(0));
  uint64_t references = 0, instructions = 0, words = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto filled = std::make_unique<FilledTarget>(threads, 32768, 64);
    MappedProcess process(filled->target().mapping());
    Sink sink;
    auto merge = std::make_unique<Merge<Sink>>(process, sink, MergeOptions{});
    state.ResumeTiming();
    while (merge->advance(false) != Status::kFinished) {
    }
    state.PauseTiming();
    for (const ThreadReport& r : merge->reports()) {
      instructions += r.statistics.instructions;
      references += r.statistics.loads + r.statistics.stores + r.statistics.fetch_lines;
      words += r.statistics.words;
    }
    merge.reset();
    filled.reset();
    state.ResumeTiming();
  }
  state.counters["references/s"] = benchmark::Counter(static_cast<double>(references), benchmark::Counter::kIsRate);
  state.counters["instructions/s"] = benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
  state.counters["words/s"] = benchmark::Counter(static_cast<double>(words), benchmark::Counter::kIsRate);
}

BENCHMARK(replay_all<ChecksumSink>)
    ->Name("merge/references")
    ->Arg(1)
    ->Arg(8)
    ->Arg(64)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(replay_all<CountingSink>)->Name("merge/counts")->Arg(1)->Arg(8)->Unit(benchmark::kMillisecond)->UseRealTime();

void drain_all(benchmark::State& state) {
  uint64_t words = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto filled = std::make_unique<FilledTarget>(8, 32768, 64);
    MappedProcess process(filled->target().mapping());
    Drain drain(process);
    state.ResumeTiming();
    while (drain.advance(false) != Status::kFinished) {
    }
    words += drain.words();
  }
  state.counters["words/s"] = benchmark::Counter(static_cast<double>(words), benchmark::Counter::kIsRate);
}
BENCHMARK(drain_all)->Name("drain")->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace simrun::channel

BENCHMARK_MAIN();
