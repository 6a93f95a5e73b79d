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

void IntervalSink::event(MergeThread& thread, std::span<const uint64_t> words, const PathTable& paths) {
  Interval& interval = open_.at(thread.replay.handle);
  const auto event = static_cast<Event>(static_cast<uint32_t>(words[0]));
  const auto payload = words.subspan(1);
  switch (event) {
    case Event::kPathCounts: {
      const auto counts = path_counts(paths.process(), payload);
      interval.counts.insert(interval.counts.end(), counts.begin(), counts.end());
      return;
    }
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

}  // namespace simrun::channel
