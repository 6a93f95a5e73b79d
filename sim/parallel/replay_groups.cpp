#include "sim/parallel/replay_groups.h"

#include <bit>
#include <ranges>
#include <span>

namespace simrun::sim {

namespace {

size_t side_of(Access kind) { return kind == Access::kFetch ? 0 : 1; }

}  // namespace

GroupReplay::GroupReplay(Hierarchy& slice, uint32_t number, uint32_t slices)
    : slice_(slice),
      number_(number),
      slice_mask_(slices - 1),
      slice_shift_(static_cast<uint32_t>(std::bit_width(slice_mask_))),
      own_(Batch::kMostListed) {}

void GroupReplay::run(const Batch& batch) {
  uint32_t begin = 0;
  for (const Group& group : batch.groups) {
    this->begin(group);
    if (slice_mask_ == 0) {
      replay(batch, group, std::views::iota(begin, group.end));
      begin = group.end;
      continue;
    }
    uint32_t size = 0;
    for (uint32_t i = begin; i != group.end; ++i) {  // without a branch that is guessed wrong every second time
      own_[size] = i;
      size += (line_of(batch.lines[i]) & slice_mask_) == number_;
    }
    begin = group.end;
    replay(batch, group, std::span(own_.data(), size));
  }
}

void GroupReplay::begin(const Group& group) {
  if (group.thread != Group::kSameThread) slice_.run_thread(group.core, group.thread);
  if (number_ != 0) return;
  for (size_t kind = 0; kind < kAccessKinds; ++kind) {
    Hierarchy::Port& port = slice_.ports_[2 * group.core + side_of(static_cast<Access>(kind))];
    port.counts.accesses[kind] += group.accesses[kind];
    port.extra_lines[kind] += group.further[kind];
  }
}

// A line's time of last use is set at once to that of its last reference in the group. Until then it is in the future,
// which no choice of a victim sees: lines of the group are more recent than the others anyway, and none of them goes.
template <class Own>
void GroupReplay::replay(const Batch& batch, const Group& group, Own own) {
  Hierarchy::Port* const ports = &slice_.ports_[2 * group.core];
  const Cache::Shortcut shortcuts[] = {ports[0].shortcut, ports[1].shortcut};
  const uint64_t clocks[] = {*shortcuts[0].clock, *shortcuts[1].clock};
  for (const uint32_t i : own) {
    const Access kind = batch.kinds[i];
    const uint64_t line = line_of(batch.lines[i]) >> slice_shift_;
    const size_t side = side_of(kind);
    if (!group.filtered) {
      slice_.access_counted_line(group.core, kind, line);
      continue;
    }
    const uint64_t time = clocks[side] + batch.lines[i].used;
    Cache::Recent& recent = shortcuts[side].find(line);
    if (recent.answers(line, is_write(kind))) {
      recent.used = time;
      continue;
    }
    *shortcuts[side].clock = time - 1;
    slice_.access_in_full(ports[side], group.core, kind, line);
  }
  if (!group.filtered) return;
  for (size_t side = 0; side < 2; ++side) *shortcuts[side].clock = clocks[side] + group.duration;
}

}  // namespace simrun::sim
