#include "sim/parallel/replay_groups.h"

#include <bit>

namespace simrun::sim {

namespace {

size_t side_of(Access kind) { return kind == Access::kFetch ? 0 : 1; }

}  // namespace

GroupReplay::GroupReplay(Hierarchy& slice, uint32_t number, uint32_t slices)
    : slice_(slice),
      number_(number),
      slice_mask_(slices - 1),
      slice_shift_(static_cast<uint32_t>(std::bit_width(slice_mask_))) {}

void GroupReplay::run(const Batch& batch) {
  const Batch::OfSlice& list = batch.slices[number_];
  const ListedReference* at = list.listed.data();
  uint32_t segments = 0;
  for (size_t i = 0; i < batch.groups.size(); ++i) {
    const Group& group = batch.groups[i];
    for (; segments <= group.segment; ++segments) begin(batch.segments[segments]);
    const ListedReference* const end = list.listed.data() + list.ends[i];
    if (group.filtered) {
      replay(batch, group, at, end);
    } else {
      const uint32_t core = batch.segments[group.segment].core;
      for (; at != end; ++at) slice_.access_line(core, kind_of(at->reference), line_of(at->reference));
    }
    at = end;
  }
}

void GroupReplay::begin(const Segment& segment) {
  if (segment.thread != Segment::kSameThread) slice_.run_thread(segment.core, segment.thread);
  if (number_ != 0) return;  // what no line belongs to is counted once
  for (const Access kind :
       {Access::kFetch, Access::kLoad, Access::kStore, Access::kReadModifyWrite, Access::kPrefetch, Access::kFlush})
    slice_.ports_[2 * segment.core + side_of(kind)].extra_lines[index(kind)] += segment.further[index(kind)];
}

// Lines that level 1 lost, or lost the permission to write, other than by evicting them itself.
uint64_t GroupReplay::losses(uint32_t core) const {
  uint64_t sum = 0;
  for (size_t side = 0; side < 2; ++side) {
    const EventCounters& e = slice_.ports_[2 * core + side].cache->events;
    sum += e.back_invalidations + e.invalidations_received + e.downgrades;
  }
  return sum;
}

// A line's time of last use is set at once to that of its last reference in the group. Until then it is in the future,
// which no choice of a victim sees: lines of the group are more recent than the others anyway, and none of them goes.
void GroupReplay::replay(const Batch& batch, const Group& group, const ListedReference* from,
                         const ListedReference* to) {
  const uint32_t core = batch.segments[group.segment].core;
  Hierarchy::Port* const ports = &slice_.ports_[2 * core];
  if (number_ == 0)
    for (size_t kind = 0; kind < kAccessKinds; ++kind)
      ports[side_of(static_cast<Access>(kind))].counts.accesses[kind] += group.accesses[kind];
  const Cache::Shortcut shortcuts[] = {ports[0].shortcut, ports[1].shortcut};
  const uint64_t clocks[] = {*shortcuts[0].clock, *shortcuts[1].clock};
  const uint64_t losses_before = losses(core);
  for (; from != to; ++from) {
    const Access kind = kind_of(from->reference);
    const uint64_t line = line_of(from->reference);
    const size_t side = side_of(kind);
    Cache::Recent& recent = shortcuts[side].find(line);
    const uint64_t time = clocks[side] + (from->last - group.begin) + 1;
    if (recent.answers(line, is_write(kind))) [[likely]] {
      recent.used = time;
      continue;
    }
    slice_.access_in_full(ports[side], core, kind, line);
    if (losses(core) != losses_before) [[unlikely]]
      return replay_rest(batch, group, from->first, clocks);
    set_time(core, from->reference, time);
  }
  set_clocks(core, clocks, group.end - group.begin);
}

// The reference `done` was the last that was made, and took a line of the group away, perhaps. So those behind it are
// made one by one, on times as they are at this point.
void GroupReplay::replay_rest(const Batch& batch, const Group& group, uint32_t done, const uint64_t (&clocks)[2]) {
  const uint32_t core = batch.segments[group.segment].core;
  const auto in_slice = [&](uint32_t i) { return (line_of(batch.raw[i]) & slice_mask_) == number_; };
  const auto reference = [&](uint32_t i) { return pack(line_of(batch.raw[i]) >> slice_shift_, kind_of(batch.raw[i])); };
  for (uint32_t i = group.begin; i <= done; ++i)
    if (in_slice(i)) set_time(core, reference(i), clocks[side_of(kind_of(batch.raw[i]))] + (i - group.begin) + 1);
  set_clocks(core, clocks, done - group.begin + 1);
  for (uint32_t i = done + 1; i < group.end; ++i)
    if (in_slice(i)) slice_.access_counted_line(core, kind_of(reference(i)), line_of(reference(i)));
}

void GroupReplay::set_clocks(uint32_t core, const uint64_t (&clocks)[2], uint64_t passed) {
  for (size_t side = 0; side < 2; ++side) *slice_.ports_[2 * core + side].shortcut.clock = clocks[side] + passed;
}

void GroupReplay::set_time(uint32_t core, PackedReference reference, uint64_t time) {
  const Hierarchy::Port& port = slice_.ports_[2 * core + side_of(kind_of(reference))];
  const uint64_t line = line_of(reference);
  Cache::Recent& recent = port.shortcut.find(line);
  if (recent.answers(line, false)) {
    recent.used = time;
  } else if (const Slot slot = port.cache->find(line); slot != kNoSlot) {
    port.shortcut.slots[slot].used = time;
  }
}

}  // namespace simrun::sim
