#include "sim/parallel/hit_filter.h"

#include <bit>
#include <cstring>
#include <utility>

namespace simrun::sim {

namespace {

uint64_t sets_of(const CacheShape& shape, uint32_t line_bytes) { return shape.size_bytes / shape.ways / line_bytes; }

// A power of two that divides the sets of all levels but the first.
uint64_t columns_of(const MachineConfig& machine, uint64_t most) {
  uint64_t bits = most;
  for (size_t level = 1; level < machine.levels.size(); ++level) {
    const LevelConfig& l = machine.levels[level];
    for (const CacheShape* shape : {&l.unified, &l.instruction, &l.data})
      if (shape->ways != 0) bits |= sets_of(*shape, machine.line_bytes);
  }
  return bits & -bits;
}

}  // namespace

HitFilter::HitFilter(const MachineConfig& machine) : lines_(kNoPlace + 1), kinds_(Batch::kMostListed) {
  const LevelConfig& level1 = machine.levels[0];
  filters_ = level1.replacement == Replacement::kLru && level1.write_policy == WritePolicy::kWriteBack &&
             level1.write_miss == WriteMiss::kAllocate;
  const std::vector<const CacheShape*> shapes =
      level1.split ? std::vector{&level1.instruction, &level1.data} : std::vector{&level1.unified};
  for (const CacheShape* shape : shapes)
    filters_ = filters_ && std::has_single_bit(sets_of(*shape, machine.line_bytes));
  const uint64_t columns = filters_ ? columns_of(machine, kMostColumns) : 1;
  column_mask_ = columns - 1;
  column_bits_ = static_cast<uint32_t>(std::countr_zero(columns));
  columns_.resize(columns);
  for (size_t level = 1; level < machine.levels.size(); ++level) {
    const LevelConfig& l = machine.levels[level];
    if (l.inclusion != Inclusion::kInclusive) continue;
    pairs_ = pairs_ && l.replacement == Replacement::kLru;
    for (const CacheShape* shape : {&l.unified, &l.instruction, &l.data}) pairs_ = pairs_ && shape->ways != 1;
  }
  data_side_ = shapes.size() - 1;
  sides_.resize(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    Side& side = sides_[i];
    const uint64_t sets = filters_ ? sets_of(*shapes[i], machine.line_bytes) : 1;
    side.guesses.resize(16 * columns);  // so that few lines have the same
    side.set_mask = sets - 1;
    side.ways = shapes[i]->ways;
    side.sets.resize(sets * side.ways);
    side.sizes.resize(sets);
    side.shortcut = {lines_.data(), side.guesses.data(), side.guesses.size() - 1, &clock_};
  }
  forget_guesses();
}

void HitFilter::forget_guesses() {
  for (Side& side : sides_) std::memset(side.guesses.data(), kNoPlace & 0xff, side.guesses.size() * sizeof(Place));
  std::fill(columns_.begin(), columns_.end(), Column());
}

void HitFilter::end_group(Group& group) {
  for (; begin_ != listed_; ++begin_) lines_[begin_].key |= kDoubtful;
  for (Side& side : sides_) std::fill(side.sizes.begin(), side.sizes.end(), 0);
  group.end = listed_;
  group.duration = std::exchange(clock_, 0);
}

void HitFilter::take(Batch& batch) {
  batch.lines.resize(Batch::kMostListed);
  batch.kinds.resize(Batch::kMostListed);
  std::copy_n(lines_.begin(), listed_, batch.lines.begin());
  std::copy_n(kinds_.begin(), listed_, batch.kinds.begin());
  listed_ = begin_ = 0;
  forget_guesses();
}

}  // namespace simrun::sim
