#include "instr/channel/interval_sink.h"

#include <fmt/format.h>

#include <algorithm>

#include "instr/border/stream.h"
#include "instr/channel/stream_error.h"

namespace simrun::channel {

using namespace border;

uint32_t IntervalSink::start_thread(const ThreadReport& thread) {
  if (open_.size() <= thread.index) open_.resize(thread.index + 1);
  open_[thread.index].thread = thread.index;
  return thread.index;
}

void IntervalSink::event(uint32_t thread, Event event, std::span<const uint64_t> payload) {
  Interval& interval = open_.at(thread);
  switch (event) {
    case Event::kPathCounts:
      for (size_t k = 0; k + 1 < payload.size(); k += 2)
        interval.counts.push_back({static_cast<uint32_t>(payload[k]), payload[k + 1]});
      return;
    case Event::kPathCut:
      if (payload.size() >= 2)
        interval.cuts.push_back({static_cast<uint32_t>(payload[0]), static_cast<uint32_t>(payload[1])});
      return;
    case Event::kInterval:
      if (payload.empty() || payload[0] < interval.start) throw StreamError("an interval that ends before it started");
      return give(interval, payload[0]);
    case Event::kModeSwitch:
      // Nothing is counted in between.
      if (payload.size() >= 2 && payload[0] == static_cast<uint64_t>(Mode::kCount)) interval.start = payload[1];
      return;
    default:
      return;
  }
}

// A counter that might have wrapped is reported amid an interval: then a path comes twice.
void IntervalSink::give(Interval& interval, uint64_t end) {
  interval.end = end;
  auto& counts = interval.counts;
  std::sort(counts.begin(), counts.end(), [](const PathCount& a, const PathCount& b) { return a.path < b.path; });
  size_t kept = 0;
  for (const PathCount& c : counts) {
    if (kept != 0 && counts[kept - 1].path == c.path)
      counts[kept - 1].executions += c.executions;
    else
      counts[kept++] = c;
  }
  counts.resize(kept);
  if (end != interval.start) take_(interval);
  interval.start = end;
  counts.clear();
  interval.cuts.clear();
}

void IntervalSink::finish(const MappedProcess& process, const std::vector<ThreadReport>& threads) {
  for (const ThreadReport& thread : threads) {
    if (thread.ended || thread.index >= open_.size()) continue;
    Interval& interval = open_[thread.index];
    const auto rest = left_in_counters(process, thread.slot);
    interval.counts.insert(interval.counts.end(), rest.begin(), rest.end());
    give(interval, std::max(interval.start, process.slot(thread.slot).retired.load(std::memory_order_acquire)));
  }
}

std::vector<PathCount> left_in_counters(const MappedProcess& process, uint32_t slot) {
  std::vector<PathCount> result;
  const uint32_t* const counters = process.counters(slot);
  if (counters == nullptr) return result;
  const uint32_t paths = process.paths();
  for (uint32_t first = kFirstPath, end; first < paths; first = end) {
    const uint32_t superblock = process.path(first).superblock;
    uint64_t others = 0;
    for (end = first; end < paths && process.path(end).superblock == superblock; ++end)
      if (!process.path(end).counts_entries) others += counters[end];
    for (uint32_t k = first; k < end; ++k) {
      uint64_t executions = counters[k];
      // Killed amid a path: one entry may be one path too many, or a path be counted whose entry is not yet seen.
      if (process.path(k).counts_entries) executions -= std::min(executions, others);
      if (executions != 0) result.push_back({k, executions});
    }
  }
  return result;
}

}  // namespace simrun::channel
