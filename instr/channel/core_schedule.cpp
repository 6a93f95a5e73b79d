#include "instr/channel/core_schedule.h"

#include <algorithm>
#include <limits>

#include "instr/channel/virtual_time.h"

namespace simrun::channel {

void CoreSchedule::adopt(MergeThread& thread) {
  const auto count = static_cast<uint32_t>(cores_.size());
  if (!pins_.empty() && is_on()) {
    thread.pin = thread.core = pins_[thread.report.index % pins_.size()];
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t core = (thread.report.index + i) % count;
    if (cores_[core].owner != nullptr) continue;
    cores_[core].owner = &thread;
    thread.core = core;
    return;
  }
}

// Its own core, else one of nobody's, else the one that has been idle longest.
uint32_t CoreSchedule::find_idle(const MergeThread& thread) const {
  if (thread.pin != MergeThread::kNoCore) return cores_[thread.pin].running == nullptr ? thread.pin : kNobody;
  if (thread.core != MergeThread::kNoCore && cores_[thread.core].running == nullptr) return thread.core;
  uint32_t best = kNobody;
  for (uint32_t core = 0; core < cores_.size(); ++core) {
    if (cores_[core].running != nullptr) continue;
    if (cores_[core].owner == nullptr) return core;
    if (best == kNobody || cores_[core].free_at < cores_[best].free_at) best = core;
  }
  return best;
}

bool CoreSchedule::enter(MergeThread& thread) {
  const uint32_t core = find_idle(thread);
  if (core == kNobody) {
    waiting_.push_back(&thread);
    return false;
  }
  place(thread, core);
  return true;
}

void CoreSchedule::place(MergeThread& thread, uint32_t number) {
  Core& core = cores_[number];
  const bool comes_back = core.last_index == thread.report.index;
  if (core.last_index != kNobody && !comes_back) ++core.report.switches;
  if (thread.last_core != MergeThread::kNoCore && thread.last_core != number) ++thread.report.migrations;
  if (!comes_back) thread.replay.last_line = std::numeric_limits<uint64_t>::max();  // the front end has forgotten it
  core.running = &thread;
  core.last_index = thread.report.index;
  thread.core = thread.last_core = thread.report.core = number;
  thread.clock = std::max(thread.clock, core.free_at);
  thread.slice_end = thread.clock + time_slice_;
  thread.placed_at = thread.replay.statistics.instructions;
}

void CoreSchedule::take_off(MergeThread& thread) {
  Core& core = cores_[thread.core];
  core.report.instructions += thread.replay.statistics.instructions - thread.placed_at;
  core.free_at = thread.clock;
  core.running = nullptr;
}

MergeThread* CoreSchedule::first_waiting_for(uint32_t core) const {
  for (MergeThread* thread : waiting_)
    if (thread->pin == MergeThread::kNoCore || thread->pin == core) return thread;
  return nullptr;
}

MergeThread* CoreSchedule::hand_on(uint32_t core) {
  MergeThread* const next = first_waiting_for(core);
  if (next == nullptr) return nullptr;
  std::erase(waiting_, next);
  place(*next, core);
  return next;
}

MergeThread* CoreSchedule::leave(MergeThread& thread) {
  const bool runs = thread.core != MergeThread::kNoCore && cores_[thread.core].running == &thread;
  if (!runs) {
    std::erase(waiting_, &thread);
    return nullptr;
  }
  take_off(thread);
  return hand_on(thread.core);
}

MergeThread* CoreSchedule::rotate(MergeThread& thread) {
  if (waiting_.empty() || thread.clock < thread.slice_end) return nullptr;
  const uint32_t core = thread.core;
  if (first_waiting_for(core) == nullptr) return nullptr;
  take_off(thread);
  waiting_.push_back(&thread);
  return hand_on(core);
}

void CoreSchedule::forget(MergeThread& thread) {
  for (Core& core : cores_)
    if (core.owner == &thread) core.owner = nullptr;
}

std::vector<CoreReport> CoreSchedule::reports() const {
  std::vector<CoreReport> reports;
  for (const Core& core : cores_) {
    reports.push_back(core.report);
    if (core.running != nullptr)
      reports.back().instructions += core.running->replay.statistics.instructions - core.running->placed_at;
  }
  return reports;
}

}  // namespace simrun::channel
