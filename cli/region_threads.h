// What the threads of a run did within a region of it: their statistics there, and the cores that they ran on.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "cli/core_counts.h"
#include "instr/channel/virtual_time.h"

namespace simrun::cli {

class RegionThreads {
 public:
  // A thread got a core. `inside`: the region has begun and goes on.
  void run_on(const channel::ThreadReport& report, bool inside) {
    Part& part = part_of(report.index);
    if (last_on_core_.size() <= report.core) last_on_core_.resize(report.core + 1, kNobody);
    const bool is_new_there = last_on_core_[report.core] != report.index;
    last_on_core_[report.core] = report.index;
    part.core = report.core;
    if (inside && part.entered) cores_.put(report.index, report.core, is_new_there, part.instructions);
  }
  bool has_entered(uint32_t thread) const { return thread < parts_.size() && parts_[thread].entered; }
  // Before an item of a thread in the region, of so many words. True: it is its first one. Its fetches start anew then, as in a
  // replay of the region alone.
  bool enter(channel::MergeThread& thread, uint64_t words, uint64_t instructions) {
    Part& part = part_of(thread.report.index);
    const bool is_first = !part.entered;
    if (is_first) [[unlikely]]
      begin(part, thread);
    part.words += words;
    part.instructions += instructions;
    return is_first;
  }
  // Before an item of a thread behind the region: what was counted so far is what lies in it. True: it is the first one.
  bool leave(const channel::MergeThread& thread) {
    Part& part = part_of(thread.report.index);
    if (part.left) [[likely]]
      return false;
    part.left = true;
    part.end = thread.replay.statistics;
    return true;
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
  static constexpr uint32_t kNobody = ~uint32_t{0};
  struct Part {
    bool entered = false, left = false;
    uint64_t words = 0, instructions = 0;
    uint32_t core = kNobody;
    channel::ThreadStatistics start, end;
  };

  void begin(Part& part, channel::MergeThread& thread) {
    part.entered = true;
    part.start = thread.replay.statistics;
    if (part.core != kNobody) cores_.put(thread.report.index, part.core, true, 0);
    thread.replay.last_line = std::numeric_limits<uint64_t>::max();
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

  std::vector<Part> parts_;             // by thread
  std::vector<uint32_t> last_on_core_;  // thread
  CoreCounts cores_;
};

}  // namespace simrun::cli
