// Leaves out of a trace what caches behind a small one would not hear of: trace stripping.
//
// The filter is a direct-mapped cache for fetches and one for data. What hits in it is left out, but for the first write to a
// line. A line that hits was the last of its set that was referred to, in any cache with lines of that size and as many sets or
// a multiple: it is there, and the most recent one. So a cache that a hit on the most recent line leaves as it was misses, evicts
// and writes back what it does without the filter. That is so with one cache for fetches and one for data, write-back and
// allocating, and if nothing else takes lines away: inclusive caches behind it do.
//
// T. R. Puzak, "Analysis of Cache Replacement Algorithms" (University of Massachusetts, 1985); writes and several processors:
// W.-H. Wang, J.-L. Baer, "Efficient Trace-Driven Simulation Methods for Cache Performance Analysis" (ACM TOCS 9(3), 1991).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "traces/export/formats.h"

namespace simrun::traces {

class ReferenceFilter {
 public:
  // Each cache has `bytes`, a power of two, and at least one line of `line_bytes`, another. `by_thread`: each thread has its own; what
  // another one writes leaves them, and must be written anew when another one read it. Else they are of all threads, as it is
  // for a reader who is not told who refers to memory. References are to what `reader` takes them for, one memory of all processes.
  ReferenceFilter(uint64_t bytes, uint32_t line_bytes, bool by_thread, const Exporter& reader);

  // In the order of the program: an instruction, then its references.
  bool keeps_fetch(const InstructionRecord& i);
  // Valid until the next call. One that crosses lines is kept if one of them is not there.
  std::span<const MemoryReference> keep(const InstructionRecord& i);

 private:
  static constexpr uint64_t kNoLine = ~uint64_t{0};
  struct Line {
    uint64_t line = kNoLine;
    bool written = false;
  };
  struct Caches {
    std::vector<Line> fetches, data;
  };

  Caches& caches_of(const InstructionRecord& i);
  bool keeps_line(std::vector<Line>& side, uint64_t line, bool write);
  // Who may have it where, or not any more.
  void forget_line(Caches& own, uint64_t line);
  template <class Change>
  void for_each_holder(uint64_t line, Change change);
  template <class Look>
  bool any_line(uint64_t address, uint32_t bytes, Look look) const;

  const uint64_t mask_;
  const uint32_t line_shift_;
  const bool by_thread_;
  const Exporter& reader_;
  std::map<uint32_t, Caches> threads_;
  Caches* last_ = nullptr;
  uint32_t last_thread_ = 0;
  std::vector<MemoryReference> kept_;
};

// What the filter keeps, into an exporter whose format can be filtered.
class FilteringExporter final : public Exporter {
 public:
  FilteringExporter(Exporter& inner, ReferenceFilter filter) : inner_(inner), filter_(std::move(filter)) {}
  bool on_instruction(const InstructionRecord& i) override;
  bool on_begun_string(const InstructionRecord& i) override;
  bool on_event(const EventRecord& e) override { return inner_.on_event(e); }
  void finish() override { inner_.finish(); }
  uint64_t left_out() const override { return inner_.left_out(); }

  uint64_t kept_fetches() const { return kept_fetches_; }
  // Without those that the format has no place for.
  uint64_t kept_references() const { return kept_references_ - inner_.left_out(); }

 private:
  Exporter& inner_;
  ReferenceFilter filter_;
  uint64_t kept_fetches_ = 0, kept_references_ = 0;
};

}  // namespace simrun::traces
