#include "sim/parallel/reference_lister.h"

#include <algorithm>
#include <bit>

namespace simrun::sim {

ReferenceLister::ReferenceLister(std::span<const MachineConfig> machines)
    : cores_(machines[0].cores),
      line_shift_(static_cast<uint32_t>(std::countr_zero(machines[0].line_bytes))),
      filter_(machines),
      shortcuts_{filter_.shortcut(true), filter_.shortcut(false)} {}

void ReferenceLister::begin(BatchTaker& to) {
  to_ = &to;
  batch_ = &to_->next();
}

void ReferenceLister::end() {
  end_group(filter_.filters());
  filter_.take(*batch_);
}

// As access_line() for each, with what that keeps in memory in registers: the clock, and how many of each kind, 10 bits each.
void ReferenceLister::take(uint32_t core, const uint64_t* at, const uint64_t* end) {
  constexpr uint32_t kBits = 10;
  constexpr ptrdiff_t kMost = (1 << kBits) - 1;
  static_assert(kAccessKinds * kBits <= 64);
  work_for(core);
  uint64_t* const common_clock = shortcuts_[0].clock;
  while (at != end) {
    const uint64_t* const stop = at + std::min(end - at, kMost);
    uint64_t counts = 0, clock = *common_clock;
    for (; at != stop && *at != kFurtherFollows; ++at) {
      const auto kind = static_cast<Access>(*at & ((1u << kPackedKindBits) - 1));
      const uint64_t line = *at >> kPackedKindBits;
      counts += uint64_t{1} << (index(kind) * kBits);
      Cache::Recent& recent = shortcuts_[kind != Access::kFetch].find(line);
      if (recent.answers(line, is_write(kind)) && kind != Access::kFlush) [[likely]] {
        recent.used = ++clock;
        continue;
      }
      for (size_t k = 0; k < kAccessKinds; ++k) group_.accesses[k] += counts >> (k * kBits) & kMost;
      counts = 0;
      *common_clock = clock;
      put(kind, line);
      clock = *common_clock;
    }
    for (size_t k = 0; k < kAccessKinds; ++k) group_.accesses[k] += counts >> (k * kBits) & kMost;
    *common_clock = clock;
    if (at == stop) continue;
    ++at;
    access_further_line(core, static_cast<Access>(*at & ((1u << kPackedKindBits) - 1)), *at >> kPackedKindBits);
    ++at;
  }
}

Hierarchy::Hits ReferenceLister::hits(uint32_t) {
  Hierarchy::Hits h;
  h.fetches_.lines = shortcuts_[0], h.data_.lines = shortcuts_[1];
  h.fetch_counts_ = h.data_counts_ = group_.accesses.data();
  h.line_shift_ = line_shift_;
  h.usable_ = filter_.filters();
  return h;
}

// A reference that may be more than a hit.
void ReferenceLister::put(Access kind, uint64_t line) {
  if (kind == Access::kFlush) [[unlikely]] {
    begin_group(group_.core, Group::kSameThread);
    filter_.list(kind, line);
    end_group(false);
  } else {
    filter_.put(kind, line);
  }
  if (filter_.is_full()) [[unlikely]]
    end_batch();
}

void ReferenceLister::begin_group(uint32_t core, uint32_t thread) {
  end_group(filter_.filters());
  if (batch_->groups.size() >= Batch::kMostGroups) end_batch();
  group_.core = core, group_.thread = thread;
}

// What comes after it is of the same core.
void ReferenceLister::end_group(bool filtered) {
  group_.filtered = filtered;
  filter_.end_group(group_);
  batch_->groups.push_back(group_);
  group_ = {.core = group_.core};
}

void ReferenceLister::end_batch() {
  end();
  batch_ = &to_->next();
}

}  // namespace simrun::sim
