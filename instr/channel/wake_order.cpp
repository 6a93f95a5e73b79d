#include "instr/channel/wake_order.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <utility>

#include "instr/border/stream.h"
#include "instr/channel/progress_sampler.h"
#include "instr/channel/virtual_time.h"

namespace simrun::channel {

namespace {

bool is_runnable(const MergeThread& t) { return t.stage == MergeThread::Stage::kRunnable || t.stage == MergeThread::Stage::kReady; }

// Whether the call that it is back from says that somebody woke it.
bool returned_woken(MergeThread& thread) {
  const std::span<const uint64_t> words = thread.ring.words();
  return words.size() >= 3 && static_cast<uint32_t>(words[0]) == static_cast<uint32_t>(border::Event::kSyscallExit) &&
         words[1] == SYS_futex && words[2] == 0;
}

}  // namespace

void WakeOrder::enter(MergeThread& thread, std::span<const uint64_t> payload) {
  thread.futex.kind = FutexCall::Kind::kNone;
  if (payload.size() < 5 || payload[0] != SYS_futex) return;
  switch (static_cast<uint32_t>(payload[2]) & static_cast<uint32_t>(FUTEX_CMD_MASK)) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
      thread.futex.kind = FutexCall::Kind::kWait;
      break;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:   // its result counts those that were moved, too
      thread.futex.kind = FutexCall::Kind::kWake;
      break;
    default:
      return;
  }
  thread.futex.is_noted = false;
  thread.futex.hold = FutexCall::Hold::kNone;
  thread.futex.address = payload[3];
  thread.futex.value = static_cast<uint32_t>(payload[4]);
}

void WakeOrder::exit(MergeThread& thread, std::span<const uint64_t> payload) {
  const auto kind = std::exchange(thread.futex.kind, FutexCall::Kind::kNone);
  if (kind != FutexCall::Kind::kWake || payload.size() < 2 || payload[0] != SYS_futex) return;
  const auto result = static_cast<int64_t>(payload[1]);
  if (result > 0) add(thread.futex.address, std::min(result, static_cast<int64_t>(thread.futex.value)));
}

void WakeOrder::add(uint64_t address, int64_t threads) {
  const auto at = woken_.try_emplace(address, 0).first;
  if ((at->second += threads) == 0) woken_.erase(at);
}

// By a call that has been read, or by the end of a thread.
bool WakeOrder::was_woken(const FutexCall& call) {
  if (call.value != 0 && std::find(ended_.begin(), ended_.end(), call.value) != ended_.end()) return true;
  const auto woken = woken_.find(call.address);
  if (woken == woken_.end() || woken->second <= 0) return false;
  add(call.address, -1);
  return true;
}

bool WakeOrder::may_go_on(MergeThread& thread, const std::vector<MergeThread*>& all) {
  using Hold = FutexCall::Hold;
  FutexCall& call = thread.futex;
  call.hold = Hold::kNone;
  if (call.kind != FutexCall::Kind::kWait || !returned_woken(thread) || was_woken(call)) return true;
  if (!call.is_noted) {
    call.is_noted = true;
    call.behind.clear();
    for (MergeThread* t : all)
      if (t != &thread && t->stage != MergeThread::Stage::kHeld) call.behind.emplace_back(t, place_of(t->ring.process(), t->report.slot));
  }
  const auto is_unread = [](const auto& b) { return b.first->ring.place() < b.second && b.first->stage != MergeThread::Stage::kEnding; };
  // Mostly it is the same one as before.
  if (!call.behind.empty() && is_unread(call.behind.back()) && is_runnable(*call.behind.back().first)) {
    call.hold = Hold::kByRunning;
    return false;
  }
  std::erase_if(call.behind, [&](const auto& b) { return !is_unread(b); });
  if (call.behind.empty()) {
    let_go(thread);
    return true;
  }
  const auto running = std::find_if(call.behind.begin(), call.behind.end(), [](const auto& b) { return is_runnable(*b.first); });
  call.hold = running != call.behind.end() ? Hold::kByRunning : Hold::kByHeld;
  if (running != call.behind.end()) std::swap(*running, call.behind.back());
  return false;
}

// What woke it is still to be read.
void WakeOrder::let_go(MergeThread& thread) {
  thread.futex.hold = FutexCall::Hold::kNone;
  add(thread.futex.address, -1);
}

MergeThread* first_held(const std::vector<MergeThread*>& all) {
  using Hold = FutexCall::Hold;
  MergeThread* first = nullptr;
  for (MergeThread* t : all) {
    if (t->futex.hold != Hold::kByHeld || t->stage != MergeThread::Stage::kBlocked) continue;
    const auto goes_on = [](const auto& b) { return is_runnable(*b.first) || b.first->futex.hold == Hold::kByRunning; };
    if (std::any_of(t->futex.behind.begin(), t->futex.behind.end(), goes_on)) continue;
    if (first == nullptr || t->clock < first->clock) first = t;
  }
  return first;
}

void forget_in_wake_order(const MergeThread& thread, const std::vector<MergeThread*>& all) {
  for (MergeThread* t : all) std::erase_if(t->futex.behind, [&](const auto& b) { return b.first == &thread; });
}

}  // namespace simrun::channel
