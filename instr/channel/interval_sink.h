// Count mode, read: what each thread executed in each of its intervals (docs/count-mode.md). A sink for Merge<>.
//
//   IntervalSink sink([&](const Interval& interval) { ... });
//   Merge<IntervalSink> merge(process, sink, options);   // ... advance() until finished
//   sink.finish(process, merge.reports());               // what threads had executed that the end of the process cut off
//
// PathTable::code says which instructions a path has.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "instr/border/stream.h"
#include "instr/channel/mapped_process.h"
#include "instr/channel/merge.h"
#include "instr/channel/path_counts.h"
#include "instr/channel/reference.h"
#include "instr/channel/thread_statistics.h"
#include "instr/channel/virtual_time.h"

namespace simrun::channel {

// The first `instructions` of a path ran once, then came a fault.
struct PathCut {
  uint32_t path;
  uint32_t instructions;
};

struct Interval {
  uint32_t thread = 0;   // ThreadReport::index
  uint64_t start = 0;    // instructions of this thread
  uint64_t end = 0;
  std::vector<PathCount> counts;   // no path twice, in no order; empty without LaunchOptions::count_paths
  std::vector<PathCut> cuts;
};

class IntervalSink final {
 public:
  static constexpr bool kWantsReferences = false;
  using Take = std::function<void(const Interval&)>;

  explicit IntervalSink(Take take) : take_(std::move(take)) {}

  uint32_t start_thread(const ThreadReport& thread);
  void fetch(uint32_t, uint64_t) {}
  void data(uint32_t, ReferenceKind, uint64_t, uint32_t) {}
  void event(MergeThread& thread, std::span<const uint64_t> words, const PathTable& paths);

  // When the process has ended: the last, partial intervals of threads whose streams had no end.
  void finish(const MappedProcess& process, const std::vector<ThreadReport>& threads);

 private:
  void give(Interval& interval, uint64_t end);

  Take take_;
  std::vector<Interval> open_;   // by thread: the interval that is going on
};

}  // namespace simrun::channel
