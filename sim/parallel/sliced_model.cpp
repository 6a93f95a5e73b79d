#include "sim/parallel/sliced_model.h"

#include <fmt/format.h>

#include <algorithm>
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
    : config_(config), filter_(config, std::bit_ceil(threads)), line_shift_(static_cast<uint32_t>(std::countr_zero(config.line_bytes))) {
  const std::string obstacle = find_obstacle(config, threads);
  if (!obstacle.empty()) throw UserError(config.name + ": " + obstacle, 2);
  const uint32_t slices = std::bit_ceil(threads);
  for (uint32_t i = 0; i < slices; ++i) {
    auto model = std::make_unique<Hierarchy>(config, Slice{slices, i});
    auto replay = std::make_unique<GroupReplay>(*model, i, slices);
    slices_.push_back({std::move(model), std::move(replay)});
  }
  for (Batch& batch : batches_) {
    batch.raw.resize(Batch::kReferences);
    batch.slices.resize(slices);
  }
  begin_batch();
  for (uint32_t i = 1; i < threads; ++i) threads_.emplace_back([this, i] { run(i); });
}

SlicedModel::~SlicedModel() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void SlicedModel::begin_batch() {
  Batch& batch = filling();
  at_ = batch.raw.data();
  end_ = at_ + Batch::kReferences;
  batch.segments.assign(1, {0, core_});
}

void SlicedModel::begin_segment(uint32_t core, uint32_t thread) {
  core_ = core;
  Batch& batch = filling();
  batch.segments.push_back({static_cast<uint32_t>(at_ - batch.raw.data()), core, thread});
  // Threads that begin and make no reference.
  if (batch.segments.size() == Batch::kReferences) send();
}

// Wakes threads for several batches at a time: a switch of threads costs as much as a batch of hits.
void SlicedModel::send() {
  constexpr uint64_t kFewBatches = 4;
  filling().size = static_cast<uint32_t>(at_ - filling().raw.data());
  std::unique_lock lock(mutex_);
  filtered_[sent_ % kBatches] = false;
  ++sent_;
  if (idle_ != 0 && sent_ - taken_ >= kFewBatches) work_.notify_all();
  if (sent_ - all_done() == kBatches) help_until(lock, sent_ - kBatches + 1);
  lock.unlock();
  begin_batch();
}

void SlicedModel::wait() {
  send();
  std::unique_lock lock(mutex_);
  work_.notify_all();
  help_until(lock, sent_);
}

void SlicedModel::help_until(std::unique_lock<std::mutex>& lock, uint64_t done) {
  wanted_ = done;
  while (all_done() < wanted_)
    if (!replay_one(lock, 0) && !filter_one(lock, filter_)) space_.wait(lock);
  if (idle_ != 0) work_.notify_all();  // what is left is for others
}

uint64_t SlicedModel::all_done() const {
  return std::min_element(slices_.begin(), slices_.end(), [](auto& a, auto& b) { return a.done < b.done; })->done;
}

void SlicedModel::run(uint32_t thread) {
  HitFilter filter(config_, slices());
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (replay_one(lock, thread) || filter_one(lock, filter)) continue;
    ++idle_;
    work_.wait(lock);
    --idle_;
  }
}

// The next batch of a slice, if there is one. Threads begin with different slices, so that each mostly stays with its
// own.
bool SlicedModel::replay_one(std::unique_lock<std::mutex>& lock, uint32_t thread) {
  for (uint32_t i = 0; i < slices(); ++i) {
    OneSlice& slice = slices_[(thread + i) % slices()];
    if (slice.busy || slice.done == taken_ || !filtered_[slice.done % kBatches]) continue;
    slice.busy = true;
    lock.unlock();
    slice.replay->run(batches_[slice.done % kBatches]);
    lock.lock();
    slice.busy = false;
    ++slice.done;
    if (all_done() >= wanted_) space_.notify_one();
    return true;
  }
  return false;
}

bool SlicedModel::filter_one(std::unique_lock<std::mutex>& lock, HitFilter& filter) {
  if (taken_ == sent_) return false;
  const uint64_t number = taken_++;
  lock.unlock();
  filter.run(batches_[number % kBatches]);
  lock.lock();
  filtered_[number % kBatches] = true;
  if (idle_ != 0) work_.notify_all();
  space_.notify_one();  // it may wait for something to do
  return true;
}

Statistics SlicedModel::statistics() {
  wait();
  Statistics sum = slices_[0].model->statistics();
  for (size_t i = 1; i < slices_.size(); ++i) sum += slices_[i].model->statistics();
  return sum;
}

bool SlicedModel::check_invariants(std::string* why) {
  wait();
  for (const OneSlice& slice : slices_)
    if (!slice.model->check_invariants(why)) return false;
  return true;
}

}  // namespace simrun::sim
