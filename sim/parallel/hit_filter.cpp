#include "sim/parallel/hit_filter.h"

#include <algorithm>
#include <bit>

namespace simrun::sim {

namespace {

// Five counters in a word, for as many references as they can count.
constexpr uint32_t kCounterBits = 12, kMostReferences = (1u << kCounterBits) - 1;
static_assert((kAccessKinds - 1) * kCounterBits <= 64 && index(Access::kFlush) == kAccessKinds - 1);

}  // namespace

HitFilter::HitFilter(const MachineConfig& machine, uint32_t slices)
    : slice_mask_(slices - 1), slice_shift_(static_cast<uint32_t>(std::bit_width(slice_mask_))), next_(slices) {
  const LevelConfig& level1 = machine.levels[0];
  filters_ = level1.replacement == Replacement::kLru && level1.write_policy == WritePolicy::kWriteBack &&
             level1.write_miss == WriteMiss::kAllocate;
  const std::vector<const CacheShape*> shapes =
      level1.split ? std::vector{&level1.instruction, &level1.data} : std::vector{&level1.unified};
  data_side_ = shapes.size() - 1;
  for (const CacheShape* shape : shapes) {
    const uint64_t sets = shape->size_bytes / shape->ways / machine.line_bytes;
    filters_ = filters_ && std::has_single_bit(sets);
    if (!filters_) return;
    // Twice as many places as lines, so that few lines have the same.
    const uint64_t places = 2 * sets * std::bit_ceil(shape->ways);
    sides_.push_back({std::vector<Place>(places), std::vector<uint8_t>(sets), shape->ways});
  }
}

void HitFilter::run(Batch& batch) {
  batch.groups.clear();
  for (uint32_t slice = 0; slice <= slice_mask_; ++slice) {
    Batch::OfSlice& list = batch.slices[slice];
    list.listed.resize(Batch::kReferences);
    list.ends.clear();
    next_[slice] = list.listed.data();
  }
  for (uint32_t segment = 0; segment < batch.segments.size(); ++segment) {
    const uint32_t end = segment + 1 < batch.segments.size() ? batch.segments[segment + 1].begin : batch.size;
    uint32_t at = batch.segments[segment].begin;
    if (at == end) list_all(batch, segment, at, end);  // a thread begins
    while (at != end) {
      const uint32_t from = at;
      const bool few = !filters_ || end - at < kLeastReferences;
      if (!few) at = filter(batch, segment, at, end);
      if (at != from) continue;
      at = few ? end : at + 1;  // a flush, alone
      list_all(batch, segment, from, at);
    }
  }
}

void HitFilter::list_all(Batch& batch, uint32_t segment, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; ++i) {
    const uint64_t line = line_of(batch.raw[i]);
    *next_[line & slice_mask_]++ = {pack(line >> slice_shift_, kind_of(batch.raw[i])), i, i};
  }
  finish(batch, {segment, begin, end, false});
}

void HitFilter::finish(Batch& batch, const Group& group) {
  batch.groups.push_back(group);
  for (size_t slice = 0; slice < next_.size(); ++slice)
    batch.slices[slice].ends.push_back(static_cast<uint32_t>(next_[slice] - batch.slices[slice].listed.data()));
}

// Up to a flush.
uint32_t HitFilter::filter(Batch& batch, uint32_t segment, uint32_t begin, uint32_t end) {
  const PackedReference* const raw = batch.raw.data();
  struct {
    Index index;
    uint64_t one, read;
  } kinds[1u << kKindBits];
  for (size_t k = 0; k < kAccessKinds; ++k) {
    const auto kind = static_cast<Access>(k);
    kinds[k] = {side(kind).index(), uint64_t{1} << kCounterBits * k, !is_write(kind)};
  }
  Group group{segment, begin, begin, true};
  bool flush = false;
  while (group.end != end && !flush) {
    const uint32_t counted = std::min(end, group.end + kMostReferences);
    uint64_t accesses = 0;  // a counter of kCounterBits for each kind but flushes
    uint32_t i = group.end;
    for (; i < counted; ++i) {
      const uint64_t line = line_of(raw[i]);
      const Access kind = kind_of(raw[i]);
      flush = kind == Access::kFlush;
      if (flush) [[unlikely]]
        break;
      const auto& of = kinds[index(kind)];
      Place& place = of.index.of(line);
      if ((place.key | of.read) != (line << 1 | 1)) [[unlikely]]
        list(side(kind), place, raw[i], i);
      place.listed->last = i;
      accesses += of.one;
    }
    group.end = i;
    for (size_t kind = 0; kind + 1 < kAccessKinds; ++kind)
      group.accesses[kind] += accesses >> kCounterBits * kind & kMostReferences;
  }
  forget_all(batch);
  if (group.end != begin) finish(batch, group);
  return group.end;
}

inline void HitFilter::list(Side& of, Place& place, PackedReference reference, uint32_t number) {
  const uint64_t line = line_of(reference);
  if (place.key >> 1 != line) {
    const uint64_t set = of.set_of(line);
    if (of.lines_of_set[set] == of.ways) of.forget(set);
    ++of.lines_of_set[set];
    place.key = line << 1;
  }
  place.key |= is_write(kind_of(reference));
  place.listed = next_[line & slice_mask_]++;
  *place.listed = {pack(line >> slice_shift_, kind_of(reference)), number, number};
}

void HitFilter::forget_all(const Batch& batch) {
  for (size_t slice = 0; slice < next_.size(); ++slice) {
    const Batch::OfSlice& list = batch.slices[slice];
    const ListedReference* from = list.listed.data() + (list.ends.empty() ? 0 : list.ends.back());
    for (; from != next_[slice]; ++from) {
      const uint64_t line = line_of(from->reference) << slice_shift_ | slice;
      Side& of = side(kind_of(from->reference));
      of.index().of(line).key = kNoKey;
      of.lines_of_set[of.set_of(line)] = 0;
    }
  }
}

}  // namespace simrun::sim
