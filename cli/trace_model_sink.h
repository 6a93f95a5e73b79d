// A model's sink in the terms of traces/: for what a trace replays into it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cli/core_counts.h"
#include "cli/model_sink.h"
#include "cli/trace_cores.h"
#include "cli/trace_information.h"
#include "cli/trace_memory.h"
#include "cli/trace_paths.h"
#include "instr/channel/stream_error.h"
#include "instr/channel/take_paths.h"
#include "traces/reader.h"
#include "traces/replay.h"

namespace simrun::cli {

// Inner: ModelSink, or PcModelSink of a machine whose prefetchers go by instruction, with the names of `memory`.
// Threads are on the cores that the trace says for a machine of as many, else on their own.
template <class Inner>
class TraceModelSink {
 public:
  static constexpr bool kWantsPc = channel::kSinkWantsPc<Inner>;
  // `is_memory_there`: `memory` is as it is at the start of what is replayed, else as before the first chunk of it.
  TraceModelSink(Inner& sink, const traces::Reader& trace, uint32_t cores, uint32_t line_bytes, TraceMemory& memory,
                 bool is_memory_there)
      : sink_(sink),
        trace_(trace),
        line_bytes_(line_bytes),
        memory_(memory),
        is_memory_there_(is_memory_there),
        follows_(recorded_cores(trace.information()) == cores) {
    if (follows_) return;
    own_cores_ = cores_of_threads(trace.summary(), cores);
    each_has_its_own_ = !own_cores_.empty() && own_cores_.size() == trace.summary().at("threads").size();
  }
  ~TraceModelSink() {
    if constexpr (channel::MakesLater<Inner>)
      for (uint32_t process = 0; process < paths_.size(); ++process) sink_.lose_paths(process);
  }
  TraceModelSink(const TraceModelSink&) = delete;
  TraceModelSink& operator=(const TraceModelSink&) = delete;
  // Instructions that a thread has retired.
  void set_instructions(std::function<uint64_t(uint32_t)> instructions) { instructions_ = std::move(instructions); }

  void begin_chunk(const traces::Chunk& chunk) {
    memory_.begin_chunk(chunk);
    for (uint32_t process = 0; process < paths_.size(); ++process)
      if (paths_[process] != nullptr && memory_.has_ended(process)) lose(process);
  }
  void change_memory(uint32_t process, std::span<const uint64_t> event, bool started) {
    if (!started && is_memory_there_) return;
    memory_.change(process, event);
    sink_.look_at_names();
  }
  uint32_t start_thread(uint32_t thread, uint32_t process, uint32_t tid) {
    memory_.meet(process);
    channel::ThreadReport report = report_of(thread, process);
    report.tid = tid;
    if (follows_) return sink_.start_thread(report);  // its core follows
    if (const auto own = own_cores_.find(thread); own != own_cores_.end()) {
      report.core = own->second;
      counts_.put(thread, report.core, true, 0);
      if (each_has_its_own_) return sink_.run_on(report);  // what the core does from here on is this thread's
    }
    return sink_.start_thread(report);
  }
  std::optional<uint32_t> run_on(uint32_t thread, uint32_t process, uint32_t core, bool is_new_there) {
    if (!follows_) return {};
    channel::ThreadReport report = report_of(thread, process);
    report.core = core;
    counts_.put(thread, core, is_new_there, instructions_(thread));
    return sink_.run_on(report);
  }
  void begin_path(uint32_t handle, uint64_t instructions) requires channel::HearsOfBeginnings<Inner> {
    sink_.begin_path(handle, instructions);
  }
  // `pc`: one, if kWantsPc.
  void fetch(uint32_t handle, uint64_t line, auto... pc) { sink_.fetch(handle, line, pc...); }
  void data(uint32_t handle, traces::ReferenceKind kind, uint64_t address, uint32_t bytes, auto... pc) {
    static_assert(static_cast<int>(channel::ReferenceKind::kNonTemporalStore) ==
                  static_cast<int>(traces::ReferenceKind::kNonTemporalStore));
    sink_.data(handle, static_cast<channel::ReferenceKind>(kind), address, bytes, pc...);
  }
  // As traces::PathRun says. Throws traces::FormatError.
  bool take_paths(traces::PathRun& run) requires(channel::TakesTogether<Inner> || channel::MakesLater<Inner>) {
    if (sink_.has_names() && run.thread.counts.instructions < kShort) return false;
    channel::ReplayState state;
    state.handle = run.thread.handle, state.last_line = run.thread.last_line;
    state.bases = {run.thread.bases.fs, run.thread.bases.gs};
    try {
      const auto taken = channel::take_paths(sink_, paths_of(run.thread.process), state, run.at, run.end, run.most);
      if (!taken) return false;
      run.thread.counts += counts_of(state.statistics, static_cast<uint64_t>(taken->at - run.at));
      run.thread.last_line = state.last_line;
      run.at = taken->at, run.instructions = taken->instructions, run.paths = state.statistics.paths;
    } catch (const channel::StreamError& error) {
      throw traces::FormatError(error.what());
    }
    return true;
  }
  CoreCounts& counts() { return counts_; }

 private:
  // Instructions. Of several processes most are short, and to describe their paths anew for a loop over many takes longer
  // than their references one by one (decision 42).
  static constexpr uint64_t kShort = 1'000'000;

  void lose(uint32_t process) {
    if constexpr (channel::MakesLater<Inner>) sink_.lose_paths(process);
    sink_.forget_process(process);
    paths_[process].reset();
  }
  static traces::Counts counts_of(const channel::ThreadStatistics& s, uint64_t words) {
    return {s.instructions, s.loads, s.stores, s.prefetches, s.flushes, s.fetch_lines, s.paths,
            s.string_iterations, s.syscalls, s.signals, s.cuts, words};
  }
  TracePaths& paths_of(uint32_t process) {
    if (paths_.size() <= process) paths_.resize(process + 1);
    if (paths_[process] == nullptr)
      paths_[process] = std::make_unique<TracePaths>(trace_.process(process), line_bytes_);
    return *paths_[process];
  }
  static channel::ThreadReport report_of(uint32_t thread, uint32_t process) {
    channel::ThreadReport report;
    report.index = report.core = thread;
    report.process = process;
    return report;
  }

  Inner& sink_;
  const traces::Reader& trace_;
  const uint32_t line_bytes_;
  TraceMemory& memory_;
  bool is_memory_there_;
  bool follows_, each_has_its_own_ = false;
  std::map<uint32_t, uint32_t> own_cores_;
  CoreCounts counts_;
  std::vector<std::unique_ptr<TracePaths>> paths_;  // by process
  std::function<uint64_t(uint32_t)> instructions_;
};

}  // namespace simrun::cli
