// A sink that writes the streams into a trace, whole or a region, and passes what lies in the region on to another sink (a
// cache model, or nothing).
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "cli/trace_descriptors.h"
#include "cli/trace_modules.h"
#include "instr/channel/merge.h"
#include "traces/region.h"
#include "traces/writer.h"

namespace simrun::cli {

// What both kinds of recorders share: descriptions, modules, threads.
class TraceRecorder {
 public:
  TraceRecorder(traces::Writer& writer, const channel::MappedProcess& process, pid_t pid)
      : writer_(writer), modules_(pid, process.header().app_pc), process_(process), descriptors_(process, writer.process(0)) {}

  traces::Writer& writer() { return writer_; }
  void set_region(traces::RegionTracker* region) { region_ = region; }

 protected:
  void start(const channel::ThreadReport& report) { writer_.start_thread(report.index, 0, report.tid, 0, 0); }
  // Before an event is used: mappings are looked at while the thread that changed them waits.
  void take_event(std::span<const uint64_t> words);
  // Instructions that an event retires.
  static uint64_t instructions_of(std::span<const uint64_t> event) {
    return static_cast<uint32_t>(event[0]) == static_cast<uint32_t>(border::Event::kCut) && event.size() > 2 ? event[2] : 0;
  }

  traces::Writer& writer_;
  TraceModules modules_;
  const channel::MappedProcess& process_;
  DescriptorCopier descriptors_;
  traces::RegionTracker* region_ = nullptr;
};

// The whole execution. `Inner` is a sink; it gets every call.
template <class Inner>
class WholeRecorder final : public TraceRecorder {
 public:
  static constexpr bool kWantsReferences = Inner::kWantsReferences;
  WholeRecorder(traces::Writer& writer, const channel::MappedProcess& process, pid_t pid, Inner& inner)
      : TraceRecorder(writer, process, pid), inner_(inner) {}

  uint32_t start_thread(const channel::ThreadReport& report) {
    start(report);
    return inner_.start_thread(report);
  }
  void words(channel::MergeThread& thread, const uint64_t* from, const uint64_t* to, uint64_t paths,
             uint64_t instructions) {
    descriptors_.update();
    writer_.add_paths(thread.report.index, {from, to}, paths, instructions);
  }
  void event(channel::MergeThread& thread, std::span<const uint64_t> words) {
    take_event(words);
    descriptors_.update();
    writer_.add_event(thread.report.index, words, instructions_of(words));
  }
  void fetch(uint32_t handle, uint64_t line) { inner_.fetch(handle, line); }
  void data(uint32_t handle, channel::ReferenceKind kind, uint64_t address, uint32_t bytes) {
    inner_.data(handle, kind, address, bytes);
  }

 private:
  Inner& inner_;
};

// A region. `Inner` gets the references that lie in it.
template <class Inner>
class RegionRecorder final : public TraceRecorder {
 public:
  static constexpr bool kWantsReferences = Inner::kWantsReferences;
  RegionRecorder(traces::Writer& writer, const channel::MappedProcess& process, pid_t pid, Inner& inner)
      : TraceRecorder(writer, process, pid), inner_(inner) {}

  // Called once, when the region has ended.
  void set_on_end(std::function<void()> on_end) { on_end_ = std::move(on_end); }

  uint32_t start_thread(const channel::ThreadReport& report) {
    start(report);
    return inner_.start_thread(report);
  }
  void path(channel::MergeThread& thread, const uint64_t* words, uint32_t count, uint32_t instructions) {
    descriptors_.update();
    const uint32_t index = thread.report.index;
    if (region_->step(index, 0, writer_.process(0), static_cast<uint32_t>(*words), instructions)) {
      enter(thread, count);
      writer_.add_paths(index, {words, count}, 1, instructions);
    } else if (region_->over()) {
      leave(thread);
    }
  }
  void event(channel::MergeThread& thread, std::span<const uint64_t> words) {
    take_event(words);
    descriptors_.update();
    const uint64_t instructions = instructions_of(words);
    region_->advance(instructions);
    if (region_->inside()) {
      enter(thread, words.size());
      writer_.add_event(thread.report.index, words, instructions);
      return;
    }
    writer_.note_event(thread.report.index, words);
    if (region_->over()) leave(thread);
  }
  void fetch(uint32_t handle, uint64_t line) {
    if (region_->inside()) inner_.fetch(handle, line);
  }
  void data(uint32_t handle, channel::ReferenceKind kind, uint64_t address, uint32_t bytes) {
    if (region_->inside()) inner_.data(handle, kind, address, bytes);
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
    return reports;
  }

 private:
  struct Part {
    bool entered = false, left = false;
    uint64_t words = 0;
    channel::ThreadStatistics start, end;
  };

  // The first item of a thread in the region: its fetches start anew, as in a replay of the region alone.
  void enter(channel::MergeThread& thread, uint64_t words) {
    Part& part = part_of(thread.report.index);
    part.words += words;
    if (part.entered) [[likely]]
      return;
    part.entered = true;
    part.start = thread.replay.statistics;
    thread.replay.last_line = std::numeric_limits<uint64_t>::max();
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

  Inner& inner_;
  std::function<void()> on_end_;
  std::vector<Part> parts_;  // by thread
};

}  // namespace simrun::cli
