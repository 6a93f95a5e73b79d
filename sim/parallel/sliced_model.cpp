#include "sim/parallel/sliced_model.h"

#include <fmt/format.h>

#include <bit>

#include "base/user_error.h"
#include "sim/build/validate_machine.h"
#include "sim/replacement/replacement.h"

namespace simrun::sim {

std::string SlicedModel::find_obstacle(const MachineConfig& m, uint32_t threads) {
  if (const auto problem = find_problem(m)) return problem->message;
  if (m.tlb) return "TLBs see pages, not lines: a machine with TLBs cannot be cut into slices";
  if (m.addresses != Addresses::kVirtual) return "first-touch addresses cannot be cut into slices";
  const uint32_t slices = std::bit_ceil(threads);
  for (const LevelConfig& level : m.levels) {
    if (!is_set_local(level.replacement))
      return fmt::format("{}: dip, drrip and ship choose by what happens in all sets, which cannot be cut into slices",
                         level.name);
    for (const CacheShape* shape : {&level.unified, &level.instruction, &level.data}) {
      if (shape->ways == 0) continue;
      if (!shape->prefetch.empty())
        return fmt::format("{}: prefetchers cross lines and cannot be cut into slices", level.name);
      const uint64_t sets = shape->size_bytes / shape->ways / m.line_bytes;
      if (sets % slices != 0)
        return fmt::format("{} has {} sets, which cannot be cut into {} slices", level.name, sets, slices);
    }
  }
  return "";
}

SlicedModel::SlicedModel(const MachineConfig& config, uint32_t threads)
    : config_(config),
      line_shift_(static_cast<uint32_t>(std::countr_zero(config.line_bytes))),
      slice_mask_(std::bit_ceil(threads) - 1),
      slice_shift_(static_cast<uint32_t>(std::bit_width(slice_mask_))),
      lane_mask_(slice_mask_) {
  const std::string obstacle = find_obstacle(config, threads);
  if (!obstacle.empty()) throw UserError(config.name + ": " + obstacle, 2);
  for (uint32_t i = 0; i <= slice_mask_; ++i)
    slices_.push_back(std::make_unique<Hierarchy>(config, Slice{static_cast<uint32_t>(slice_mask_) + 1, i}));
  for (uint64_t lane = 0; lane <= lane_mask_; ++lane) {
    filling_.push_back(std::make_shared<Batch>());
    filling_.back()->reserve(kBatch);
    lanes_.push_back(std::make_unique<Lane<Reference>>([this](const Batch& batch) { work(batch); }));
  }
}

void SlicedModel::work(const Batch& batch) {
  for (const Reference& r : batch) {
    Hierarchy& slice = *slices_[r.slice];
    if (r.part == Part::kFirst) [[likely]]
      slice.access_line(r.core, r.kind, r.line);
    else if (r.part == Part::kFurther)
      slice.access_further_line(r.core, r.kind, r.line);
    else
      slice.run_thread(r.core, static_cast<uint32_t>(r.line));
  }
}

void SlicedModel::run_thread(uint32_t core, uint32_t thread) {
  for (uint64_t slice = 0; slice <= slice_mask_; ++slice)
    put(core, Access::kLoad, uint64_t{thread} << slice_shift_ | slice, Part::kThread);
}

void SlicedModel::send(size_t lane) {
  lanes_[lane]->put(std::move(filling_[lane]));
  filling_[lane] = std::make_shared<Batch>();
  filling_[lane]->reserve(kBatch);
}

void SlicedModel::wait() {
  for (size_t lane = 0; lane < lanes_.size(); ++lane)
    if (!filling_[lane]->empty()) send(lane);
  for (const auto& lane : lanes_) lane->wait();
}

Statistics SlicedModel::statistics() {
  wait();
  Statistics sum = slices_[0]->statistics();
  for (size_t i = 1; i < slices_.size(); ++i) sum += slices_[i]->statistics();
  return sum;
}

bool SlicedModel::check_invariants(std::string* why) {
  wait();
  for (const auto& slice : slices_)
    if (!slice->check_invariants(why)) return false;
  return true;
}

}  // namespace simrun::sim
