// A sink that writes the streams into a trace, whole or a region, and passes what lies in the region on to another sink (a
// cache model, or nothing).
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/core_counts.h"
#include "cli/live_trace.h"
#include "traces/region.h"

namespace simrun::cli {

// The handle of a thread that got a core, of a sink that may not care.
template <class Inner>
uint32_t handle_on(Inner& inner, const channel::ThreadReport& report) {
  if constexpr (channel::FollowsCores<Inner>)
    return inner.run_on(report);
  else
    return inner.start_thread(report);
}

// What happens to the memory of processes, for a sink that may not care.
template <class Inner>
void tell(Inner& inner, uint32_t handle, border::Event event, std::span<const uint64_t> payload) {
  if constexpr (requires { inner.event(handle, event, payload); }) inner.event(handle, event, payload);
}
template <class Inner>
void forget_in(Inner& inner, uint32_t process) {
  if constexpr (requires { inner.forget_process(process); }) inner.forget_process(process);
}

// The whole execution. `Inner` is a sink; it gets every call.
template <class Inner>
class WholeRecorder final {
 public:
  static constexpr bool kWantsReferences = Inner::kWantsReferences;
  static constexpr bool kWantsPc = channel::kSinkWantsPc<Inner>;
  WholeRecorder(traces::Writer& writer, host::Family& family, Inner& inner)
      : live_(family, writer, LiveTrace::Code::kAll), inner_(inner) {}

  uint32_t start_thread(const channel::ThreadReport& report) {
    live_.start_thread(report);
    return inner_.start_thread(report);
  }
  uint32_t run_on(const channel::ThreadReport& report) {
    live_.run_on(report);
    return handle_on(inner_, report);
  }
  void words(channel::MergeThread& thread, const uint64_t* from, const uint64_t* to, uint64_t paths,
             uint64_t instructions) {
    live_.add_paths(thread, {from, to}, paths, instructions);
  }
  template <class Take>
  [[gnu::always_inline]] bool take_together(uint32_t handle, Take take) requires channel::TakesTogether<Inner> {
    return inner_.take_together(handle, take);
  }
  void event(channel::MergeThread& thread, std::span<const uint64_t> words) {
    live_.look_at(thread, words);
    live_.add_event(thread, words);
  }
  // `pc`: one, if kWantsPc.
  void event(uint32_t handle, border::Event event, std::span<const uint64_t> payload) {
    tell(inner_, handle, event, payload);
  }
  void forget_process(uint32_t process) {
    live_.forget_process(process);
    forget_in(inner_, process);
  }
  void forget_paths(uint32_t process) {
    live_.forget_paths(process);
    inner_.forget_paths(process);
  }
  void fetch(uint32_t handle, uint64_t line, auto... pc) { inner_.fetch(handle, line, pc...); }
  void data(uint32_t handle, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, auto... pc) {
    inner_.data(handle, kind, address, bytes, pc...);
  }

 private:
  LiveTrace live_;
  Inner& inner_;
};

// A region. `Inner` gets the references that lie in it.
template <class Inner>
class RegionRecorder final {
 public:
  static constexpr bool kWantsReferences = Inner::kWantsReferences;
  static constexpr bool kWantsPc = channel::kSinkWantsPc<Inner>;
  RegionRecorder(traces::Writer& writer, host::Family& family, traces::RegionTracker& region, Inner& inner)
      : live_(family, writer, LiveTrace::Code::kUsed), region_(region), inner_(inner) {
    live_.set_on_module([this](const traces::Module& module) { region_.add_module(module); });
  }

  // Called once, when the region has ended.
  void set_on_end(std::function<void()> on_end) { on_end_ = std::move(on_end); }

  uint32_t start_thread(const channel::ThreadReport& report) {
    live_.start_thread(report, region_.inside());
    return inner_.start_thread(report);
  }
  // What the memory of processes is, is known from the start of the program on.
  void event(uint32_t handle, border::Event event, std::span<const uint64_t> payload) {
    tell(inner_, handle, event, payload);
  }
  void forget_process(uint32_t process) {
    live_.forget_process(process, region_.inside());
    forget_in(inner_, process);
  }
  void forget_paths(uint32_t process) {
    live_.forget_paths(process);
    region_.forget_paths(process);
    inner_.forget_paths(process);
  }
  uint32_t run_on(const channel::ThreadReport& report) {
    Part& part = part_of(report.index);
    part.core = report.core;
    const bool written = part.entered && region_.inside();
    const bool is_new_there = live_.run_on(report, written);
    if (written) cores_.put(report.index, report.core, is_new_there, part.instructions);
    return handle_on(inner_, report);
  }
  void path(channel::MergeThread& thread, const uint64_t* words, uint32_t count, uint32_t instructions) {
    const traces::DescriptorTable& code = live_.code_of(thread);
    if (region_.step(thread.report.index, thread.process, code, static_cast<uint32_t>(*words), instructions)) {
      enter(thread, count).instructions += instructions;
      live_.add_paths(thread, {words, count}, 1, instructions);
    } else if (region_.over()) {
      leave(thread);
    }
  }
  void event(channel::MergeThread& thread, std::span<const uint64_t> words) {
    live_.look_at(thread, words);
    region_.advance(LiveTrace::instructions_of(words));
    if (region_.inside()) {
      enter(thread, words.size()).instructions += LiveTrace::instructions_of(words);
      live_.add_event(thread, words);
      return;
    }
    live_.pass_over(thread, words);
    if (region_.over()) leave(thread);
  }
  void fetch(uint32_t handle, uint64_t line, auto... pc) {
    if (region_.inside()) inner_.fetch(handle, line, pc...);
  }
  void data(uint32_t handle, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, auto... pc) {
    if (region_.inside()) inner_.data(handle, kind, address, bytes, pc...);
  }

  // Statistics of the region, for the threads that ran in it, from those of the whole run.
  std::vector<channel::ThreadReport> in_region(const std::vector<channel::ThreadReport>& whole) const {
    std::vector<channel::ThreadReport> reports;
    for (channel::ThreadReport report : whole) {
      if (report.index >= parts_.size() || !parts_[report.index].entered) continue;
      const Part& part = parts_[report.index];
      report.statistics = difference(part.left ? part.end : report.statistics, part.start);
      report.statistics.words = part.words;
      reports.push_back(report);
    }
    for (channel::ThreadReport& report : reports) report.migrations = 0, cores_.tell(report);
    return reports;
  }
  // After in_region(), of its threads.
  std::vector<channel::CoreReport> cores_in_region(const std::vector<channel::ThreadReport>& threads, uint32_t cores) {
    for (const channel::ThreadReport& thread : threads) cores_.end(thread.index, thread.statistics.instructions, thread.core % cores);
    return cores_.reports(cores);
  }

 private:
  struct Part {
    bool entered = false, left = false;
    uint64_t words = 0, instructions = 0;
    uint32_t core = 0;
    channel::ThreadStatistics start, end;
  };

  // The first item of a thread in the region: its fetches start anew, as in a replay of the region alone.
  Part& enter(channel::MergeThread& thread, uint64_t words) {
    Part& part = part_of(thread.report.index);
    part.words += words;
    if (part.entered) [[likely]]
      return part;
    part.entered = true;
    part.start = thread.replay.statistics;
    if (live_.say_core(thread)) cores_.put(thread.report.index, part.core, true, 0);
    thread.replay.last_line = std::numeric_limits<uint64_t>::max();
    return part;
  }

  // The first item of a thread behind the region: what was counted so far is what lies in it.
  void leave(const channel::MergeThread& thread) {
    Part& part = part_of(thread.report.index);
    if (part.left) [[likely]]
      return;
    part.left = true;
    part.end = thread.replay.statistics;
    if (on_end_) std::exchange(on_end_, nullptr)();
  }

  Part& part_of(uint32_t index) {
    if (index >= parts_.size()) parts_.resize(index + 1);
    return parts_[index];
  }

  static channel::ThreadStatistics difference(channel::ThreadStatistics a, const channel::ThreadStatistics& b) {
    a.instructions -= b.instructions;
    a.loads -= b.loads;
    a.stores -= b.stores;
    a.prefetches -= b.prefetches;
    a.flushes -= b.flushes;
    a.fetch_lines -= b.fetch_lines;
    a.paths -= b.paths;
    a.string_iterations -= b.string_iterations;
    a.syscalls -= b.syscalls;
    a.signals -= b.signals;
    a.cuts -= b.cuts;
    return a;
  }

  LiveTrace live_;
  traces::RegionTracker& region_;
  Inner& inner_;
  std::function<void()> on_end_;
  std::vector<Part> parts_;  // by thread
  CoreCounts cores_;
};

}  // namespace simrun::cli
