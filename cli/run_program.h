// One execution of a program under the engine, from launch to its end: what the sub-commands that run one share.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "cli/program_options.h"
#include "cli/run_result.h"
#include "cli/stream_consumer.h"
#include "instr/channel/progress_sampler.h"
#include "instr/host/family.h"

namespace simrun::cli {

// border::Mode::kCount: what is asked for beyond the totals (docs/count-mode.md).
struct CountOptions {
  uint64_t interval = 0, interval_threads = 0;
  bool paths = false;
  std::vector<border::ModeSwitch> switches;
};

class ProgramRun {
 public:
  // Launches it. Throws UserError (as host::launch does).
  ProgramRun(const ProgramOptions& options, border::Mode mode, const CountOptions& count = {});

  // Feeds the streams of all followed processes to `sink` until the program has ended; `line_bytes` and `cores` as in
  // channel::MergeOptions. What is wrong with a stream ends the simulation, not the program, and is said in the
  // result's error.
  template <class Sink>
  RunResult into(Sink& sink, uint32_t line_bytes, uint32_t cores = 0) {
    channel::MergeOptions merge;
    merge.quantum = options_.quantum;
    merge.time_slice = options_.time_slice;
    merge.pins = options_.pins;
    std::optional<channel::ProgressSampler> sampler;
    if (options_.recorded_order) merge.sampler = &sampler.emplace(kSamplePeriod);
    merge.cores = cores;
    merge.line_bytes = line_bytes;
    result_.order = options_.order();
    consumer_.run(sink, merge, result_);
    return take_end();
  }
  // For sinks that look at more than references: before into().
  host::Family& family() { return family_; }

  // The same with the streams thrown away unread.
  RunResult discarding();

 private:
  static constexpr std::chrono::microseconds kSamplePeriod{100};
  RunResult take_end();

  const ProgramOptions options_;
  const std::chrono::steady_clock::time_point start_;
  RunResult result_;
  host::Family family_;
  Progress progress_;
  StreamConsumer consumer_;
};

}  // namespace simrun::cli
