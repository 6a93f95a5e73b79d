// References of all cores, in their order, into batches of what slices have to look at: the filter's user (hit_filter.h).
// What it lists depends on nothing before begin(), so several listers work on stretches of one order at the same time.
#pragma once

#include <cstdint>
#include <span>

#include "sim/hierarchy.h"
#include "sim/parallel/hit_filter.h"
#include "sim/parallel/reference_batch.h"

namespace simrun::sim {

// A reference to one line in a word: the line, and its kind; or that the next word is of a further line of the reference
// before. Lines have 61 bits (find_problem: 8 bytes or more).
inline constexpr uint32_t kPackedKindBits = 3;
inline constexpr uint64_t kFurtherFollows = 7;
static_assert(kAccessKinds <= kFurtherFollows);
constexpr uint64_t pack(Access kind, uint64_t line) { return line << kPackedKindBits | index(kind); }

// Where a lister's batches go.
class BatchTaker {
 public:
  virtual ~BatchTaker() = default;
  // An empty one, which stays until the next is wanted or the lister ends. The one before is complete.
  virtual Batch& next() = 0;
};

class ReferenceLister {
 public:
  // For machines with the same cores and line size, as HitFilter has them.
  explicit ReferenceLister(std::span<const MachineConfig> machines);
  ReferenceLister(const ReferenceLister&) = delete;  // hits() point into it
  ReferenceLister& operator=(const ReferenceLister&) = delete;

  // What comes now is listed in `to`, until end().
  void begin(BatchTaker& to);
  void end();

  // Packed references of `core`.
  void take(uint32_t core, const uint64_t* at, const uint64_t* end);

  uint32_t cores() const { return cores_; }
  uint32_t line_bytes() const { return uint32_t{1} << line_shift_; }
  bool wants_pc() const { return false; }
  void set_pc(uint64_t) {}

  // As Hierarchy has them.
  void access_line(uint32_t core, Access kind, uint64_t line) {
    work_for(core);
    ++group_.accesses[index(kind)];
    Cache::Recent& recent = shortcuts_[kind != Access::kFetch].find(line);
    if (recent.answers(line, is_write(kind)) && kind != Access::kFlush) [[likely]]
      recent.used = ++*shortcuts_[0].clock;
    else
      put(kind, line);
  }
  void access_further_line(uint32_t core, Access kind, uint64_t line) {
    work_for(core);
    ++group_.further[index(kind)];
    access_line(core, kind, line);
  }
  void access(uint32_t core, Access kind, uint64_t address, uint32_t bytes) {
    work_for(core);
    ++group_.accesses[index(kind)];
    access_counted(core, kind, address, bytes, 0);
  }
  // What answers are hits that the filter knows. Of all cores the same: work_for() before they are used. Who holds the
  // clock while a batch ends may put back a later time than the new group began at: only the order of times counts.
  Hierarchy::Hits hits(uint32_t core);
  // The references that come now are those of `core`.
  void work_for(uint32_t core) {
    if (core != group_.core) [[unlikely]]
      begin_group(core, Group::kSameThread);
  }
  void access_counted_line(uint32_t core, Access kind, uint64_t line, uint64_t /*ahead*/ = 0) {
    work_for(core);
    put(kind, line);
  }
  void access_counted(uint32_t core, Access kind, uint64_t address, uint32_t bytes, uint64_t /*ahead*/) {
    for_each_line(address, bytes, line_shift_, [&](uint64_t line, bool is_first) {
      is_first ? access_counted_line(core, kind, line) : access_further_line(core, kind, line);
    });
  }
  void access_amid(uint32_t core, Access kind, uint64_t address, uint32_t bytes, uint64_t /*ahead*/) {
    access(core, kind, address, bytes);
  }
  void look_up_page(uint32_t, bool, uint64_t) {}  // there are no TLBs
  void run_thread(uint32_t core, uint32_t thread) { begin_group(core, thread); }

  // The lines that `bytes` bytes from `address` on lie on; none beyond the end of the address space.
  template <class Take>
  static void for_each_line(uint64_t address, uint32_t bytes, uint32_t line_shift, Take take) {
    const uint64_t first = address >> line_shift;
    const uint64_t end = address + (bytes != 0 ? bytes - 1 : 0);
    const uint64_t last = end < address ? ~uint64_t{0} >> line_shift : end >> line_shift;
    take(first, true);
    for (uint64_t line = first; line != last;) take(++line, false);
  }

 private:
  void put(Access kind, uint64_t line);
  void begin_group(uint32_t core, uint32_t thread);
  void end_group(bool filtered);
  void end_batch();

  const uint32_t cores_, line_shift_;
  HitFilter filter_;
  const Cache::Shortcut shortcuts_[2];  // the filter's, for fetches and data
  Group group_;                         // under way
  BatchTaker* to_ = nullptr;
  Batch* batch_ = nullptr;
};

}  // namespace simrun::sim
