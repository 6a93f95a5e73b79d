// A model's sink in the terms of traces/: for what a trace replays into it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "cli/core_counts.h"
#include "cli/model_sink.h"
#include "cli/trace_cores.h"
#include "cli/trace_information.h"
#include "cli/trace_memory.h"
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
  TraceModelSink(Inner& sink, const traces::Reader& trace, uint32_t cores, TraceMemory& memory, bool is_memory_there)
      : sink_(sink),
        memory_(memory),
        is_memory_there_(is_memory_there),
        follows_(recorded_cores(trace.information()) == cores) {
    if (follows_) return;
    own_cores_ = cores_of_threads(trace.summary(), cores);
    each_has_its_own_ = !own_cores_.empty() && own_cores_.size() == trace.summary().at("threads").size();
  }
  // Instructions that a thread has retired.
  void set_instructions(std::function<uint64_t(uint32_t)> instructions) { instructions_ = std::move(instructions); }

  void begin_chunk(const traces::Chunk& chunk) { memory_.begin_chunk(chunk); }
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
  // `pc`: one, if kWantsPc.
  void fetch(uint32_t handle, uint64_t line, auto... pc) { sink_.fetch(handle, line, pc...); }
  void data(uint32_t handle, traces::ReferenceKind kind, uint64_t address, uint32_t bytes, auto... pc) {
    static_assert(static_cast<int>(channel::ReferenceKind::kNonTemporalStore) ==
                  static_cast<int>(traces::ReferenceKind::kNonTemporalStore));
    sink_.data(handle, static_cast<channel::ReferenceKind>(kind), address, bytes, pc...);
  }
  CoreCounts& counts() { return counts_; }
  bool has_cores() const { return follows_ || !own_cores_.empty(); }

 private:
  static channel::ThreadReport report_of(uint32_t thread, uint32_t process) {
    channel::ThreadReport report;
    report.index = report.core = thread;
    report.process = process;
    return report;
  }

  Inner& sink_;
  TraceMemory& memory_;
  bool is_memory_there_;
  bool follows_, each_has_its_own_ = false;
  std::map<uint32_t, uint32_t> own_cores_;
  CoreCounts counts_;
  std::function<uint64_t(uint32_t)> instructions_;
};

}  // namespace simrun::cli
