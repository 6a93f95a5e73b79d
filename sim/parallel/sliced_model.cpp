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
    : config_(config),
      line_shift_(static_cast<uint32_t>(std::countr_zero(config.line_bytes))),
      filter_(config),
      shortcuts_{filter_.shortcut(true), filter_.shortcut(false)} {
  const std::string obstacle = find_obstacle(config, threads);
  if (!obstacle.empty()) throw UserError(config.name + ": " + obstacle, 2);
  const uint32_t slices = std::bit_ceil(threads);
  for (uint32_t i = 0; i < slices; ++i) {
    auto model = std::make_unique<Hierarchy>(config, Slice{slices, i});
    auto replay = std::make_unique<GroupReplay>(*model, i, slices);
    slices_.push_back({std::move(model), std::move(replay)});
  }
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

Hierarchy::Hits SlicedModel::hits(uint32_t) {
  Hierarchy::Hits h;
  h.fetches_.lines = shortcuts_[0], h.data_.lines = shortcuts_[1];
  h.fetch_counts_ = h.data_counts_ = group_.accesses.data();
  h.line_shift_ = line_shift_;
  h.usable_ = filter_.filters();
  return h;
}

// A reference that may be more than a hit.
void SlicedModel::put(Access kind, uint64_t line) {
  if (kind == Access::kFlush) [[unlikely]] {
    begin_group(group_.core, Group::kSameThread);
    filter_.list(kind, line);
    end_group(false);
  } else {
    filter_.put(kind, line);
  }
  if (filter_.is_full()) [[unlikely]]
    send();
}

void SlicedModel::begin_group(uint32_t core, uint32_t thread) {
  end_group(filter_.filters());
  if (filling().groups.size() >= Batch::kMostGroups) send();
  group_.core = core, group_.thread = thread;
}

// What comes after it is of the same core.
void SlicedModel::end_group(bool filtered) {
  group_.filtered = filtered;
  filter_.end_group(group_);
  filling().groups.push_back(group_);
  group_ = {.core = group_.core};
}

// Wakes threads for several batches at a time: a switch of threads costs as much as a batch of hits.
void SlicedModel::send() {
  constexpr uint64_t kFewBatches = 2;
  end_group(filter_.filters());
  filter_.take(filling());
  std::unique_lock lock(mutex_);
  ++sent_;
  if (idle_ != 0 && sent_ - all_done() >= kFewBatches) work_.notify_all();
  if (sent_ - all_done() == kBatches) help_until(lock, sent_ - kBatches + 1);
  lock.unlock();
  filling().groups.clear();
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
    if (!replay_one(lock, 0)) space_.wait(lock);
  if (idle_ != 0) work_.notify_all();  // what is left is for others
}

uint64_t SlicedModel::all_done() const {
  return std::min_element(slices_.begin(), slices_.end(), [](auto& a, auto& b) { return a.done < b.done; })->done;
}

void SlicedModel::run(uint32_t thread) {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (replay_one(lock, thread)) continue;
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
    if (slice.busy || slice.done == sent_) continue;
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
