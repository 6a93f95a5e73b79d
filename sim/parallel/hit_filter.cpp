#include "sim/parallel/hit_filter.h"

#include <bit>
#include <cstring>
#include <utility>

namespace simrun::sim {

namespace {

uint64_t sets_of(const CacheShape& shape, uint32_t line_bytes) { return shape.size_bytes / shape.ways / line_bytes; }

std::vector<const CacheShape*> shapes_of(const LevelConfig& level1) {
  return level1.split ? std::vector{&level1.instruction, &level1.data} : std::vector{&level1.unified};
}

// A power of two that divides the sets of all inclusive levels.
uint64_t columns_of(std::span<const MachineConfig> machines, uint64_t most) {
  uint64_t bits = most;
  for (const MachineConfig& machine : machines)
    for (const LevelConfig& l : std::span(machine.levels).subspan(1)) {
      if (l.inclusion != Inclusion::kInclusive) continue;
      for (const CacheShape* shape : {&l.unified, &l.instruction, &l.data})
        if (shape->ways != 0) bits |= sets_of(*shape, machine.line_bytes);
    }
  return bits & -bits;
}

// A line that has just come stays where another of its column comes.
bool keep_pairs(const MachineConfig& machine) {
  return std::all_of(machine.levels.begin() + 1, machine.levels.end(), [](const LevelConfig& l) {
    return l.inclusion != Inclusion::kInclusive ||
           (l.replacement == Replacement::kLru && l.unified.ways != 1 && l.instruction.ways != 1 && l.data.ways != 1);
  });
}

}  // namespace

bool HitFilter::can_filter(const MachineConfig& machine) {
  const LevelConfig& level1 = machine.levels[0];
  const std::vector<const CacheShape*> shapes = shapes_of(level1);
  return level1.replacement == Replacement::kLru && level1.write_policy == WritePolicy::kWriteBack &&
         level1.write_miss == WriteMiss::kAllocate && std::all_of(shapes.begin(), shapes.end(), [&](const CacheShape* shape) {
           return std::has_single_bit(sets_of(*shape, machine.line_bytes));
         });
}

HitFilter::HitFilter(std::span<const MachineConfig> machines)
    : filters_(std::all_of(machines.begin(), machines.end(), can_filter)),
      pairs_(std::all_of(machines.begin(), machines.end(), keep_pairs)),
      lines_(kNoPlace + 1),
      kinds_(Batch::kMostListed) {
  const MachineConfig& machine = machines[0];
  const std::vector<const CacheShape*> shapes = shapes_of(machine.levels[0]);
  const uint64_t columns = filters_ ? columns_of(machines, kMostColumns) : 1;
  column_mask_ = columns - 1;
  column_bits_ = static_cast<uint32_t>(std::countr_zero(columns));
  columns_.resize(columns);
  data_side_ = shapes.size() - 1;
  sides_.resize(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    Side& side = sides_[i];
    const uint64_t sets = filters_ ? sets_of(*shapes[i], machine.line_bytes) : 1;
    side.guesses.resize(std::min(16 * columns, kMostGuesses));  // so that few lines have the same
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
