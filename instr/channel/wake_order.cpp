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

bool contains(const std::vector<const MergeThread*>& threads, const MergeThread* thread) {
  return std::find(threads.begin(), threads.end(), thread) != threads.end();
}

}  // namespace

void WakeOrder::enter(MergeThread& thread, std::span<const uint64_t> payload) {
  FutexCall& call = thread.futex;
  call.kind = FutexCall::Kind::kNone;
  call.is_noted = call.is_woken = false;
  call.hold = FutexCall::Hold::kNone;
  call.place = thread.ring.place();
  if (payload.size() < 5 || payload[0] != SYS_futex) return;
  switch (static_cast<uint32_t>(payload[2]) & static_cast<uint32_t>(FUTEX_CMD_MASK)) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
      call.kind = FutexCall::Kind::kWait;
      break;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:   // its result counts those that were moved, too
      call.kind = FutexCall::Kind::kWake;
      break;
    default:
      return;
  }
  call.is_shared = (payload[2] & FUTEX_PRIVATE_FLAG) == 0;
  call.address = payload[3];
  call.value = static_cast<uint32_t>(payload[4]);
}

std::vector<MergeThread*> WakeOrder::exit(MergeThread& thread, std::span<const uint64_t> payload, const std::vector<MergeThread*>& all) {
  using Kind = FutexCall::Kind;
  const auto kind = std::exchange(thread.futex.kind, Kind::kNone);
  if (payload.size() < 2 || payload[0] != SYS_futex) return {};
  const auto result = static_cast<int64_t>(payload[1]);
  if (kind == Kind::kWait && std::exchange(thread.futex.is_woken, false) && result == 0) was_woken(thread);
  if (kind != Kind::kWake || result <= 0) return {};
  return add_wake(thread, std::min(static_cast<uint64_t>(result), thread.futex.value), all);
}

std::vector<MergeThread*> WakeOrder::add_wake(const MergeThread& by, uint64_t threads, const std::vector<MergeThread*>& all) {
  constexpr size_t kMost = 64;   // a call whose waiters do not come, as when they are killed, is forgotten some time
  const uint64_t address = by.futex.address;
  Address& at = addresses_[address];
  Wake wake{threads + 1, {&by}};   // nobody wakes itself
  std::erase_if(at.early, [&](const MergeThread* thread) {
    if (wake.gone_on.size() == wake.threads || contains(wake.gone_on, thread)) return false;
    wake.gone_on.push_back(thread);
    return true;
  });
  std::vector<MergeThread*> woken;
  for (MergeThread* t : all)
    if ((by.futex.is_shared || t->process == by.process) && t->futex.is_shared == by.futex.is_shared && t->stage == MergeThread::Stage::kBlocked &&
        t->futex.kind == FutexCall::Kind::kWait && t->futex.address == address && !t->futex.is_woken && !contains(wake.gone_on, t))
      woken.push_back(t);
  if (woken.size() > wake.threads - wake.gone_on.size()) woken.clear();   // which of them is not known
  for (MergeThread* t : woken) t->futex.is_woken = true;
  if (wake.gone_on.size() < wake.threads) at.wakes.push_back(std::move(wake));
  if (at.wakes.size() > kMost) at.wakes.erase(at.wakes.begin());
  if (at.wakes.empty() && at.early.empty()) addresses_.erase(address);
  return woken;
}

// By a call that has been read, or by the end of a thread.
bool WakeOrder::was_woken(const MergeThread& thread) {
  const FutexCall& call = thread.futex;
  if (call.value != 0 && std::find(ended_.begin(), ended_.end(), call.value) != ended_.end()) return true;
  const auto at = addresses_.find(call.address);
  if (at == addresses_.end()) return false;
  std::vector<Wake>& wakes = at->second.wakes;
  const auto wake = std::find_if(wakes.begin(), wakes.end(), [&](const Wake& w) { return !contains(w.gone_on, &thread); });
  if (wake == wakes.end()) return false;
  wake->gone_on.push_back(&thread);
  if (wake->gone_on.size() == wake->threads) wakes.erase(wake);
  if (wakes.empty() && at->second.early.empty()) addresses_.erase(at);
  return true;
}

bool WakeOrder::is_woken(const MergeThread& thread) const {
  if (thread.futex.kind != FutexCall::Kind::kWait) return false;
  const auto at = addresses_.find(thread.futex.address);
  return at != addresses_.end() && std::ranges::any_of(at->second.wakes, [&](const Wake& w) { return !contains(w.gone_on, &thread); });
}

bool WakeOrder::may_go_on(MergeThread& thread, const std::vector<MergeThread*>& all) {
  FutexCall& call = thread.futex;
  call.hold = FutexCall::Hold::kNone;
  if (call.kind != FutexCall::Kind::kWait || !returned_woken(thread)) return true;
  if (was_woken(thread)) {
    call.is_woken = false;
    return true;
  }
  if (!call.is_noted) {
    call.is_noted = true;
    call.behind.clear();
    for (MergeThread* t : all)
      if (t != &thread && t->stage != MergeThread::Stage::kHeld) call.behind.emplace_back(t, place_of(t->ring.process(), t->report.slot));
  }
  if (!is_behind_all(thread, all)) return false;
  let_go(thread);
  return true;
}

bool is_behind_all(MergeThread& thread, const std::vector<MergeThread*>& all) {
  using Hold = FutexCall::Hold;
  FutexCall& call = thread.futex;
  call.hold = Hold::kNone;
  const auto is_unread = [](const auto& b) { return b.first->ring.place() < b.second && b.first->stage != MergeThread::Stage::kEnding; };
  // Mostly it is the same one as before.
  if (!call.behind.empty() && is_unread(call.behind.back()) && is_runnable(*call.behind.back().first)) {
    call.hold = Hold::kByRunning;
    return false;
  }
  std::erase_if(call.behind, [&](const auto& b) { return !is_unread(b); });
  if (call.behind.empty()) return true;
  const auto running = std::find_if(call.behind.begin(), call.behind.end(), [](const auto& b) { return is_runnable(*b.first); });
  call.hold = running != call.behind.end() ? Hold::kByRunning : Hold::kByHeld;
  if (running != call.behind.end()) std::swap(*running, call.behind.back());
  // Who waits for its turn to begin, or for what a child did before its end, goes on when others have: as long as somebody runs.
  const auto waits = [](const auto& b) {
    return b.first->stage == MergeThread::Stage::kHeld || (b.first->futex.hold == Hold::kNone && b.first->stage == MergeThread::Stage::kBlocked && !b.first->ring.empty());
  };
  if (call.hold == Hold::kByHeld && std::any_of(call.behind.begin(), call.behind.end(), waits) && std::any_of(all.begin(), all.end(), [](const MergeThread* t) { return is_runnable(*t); }))
    call.hold = Hold::kByRunning;
  return false;
}

// What woke it is still to be read.
void WakeOrder::let_go(MergeThread& thread) {
  constexpr size_t kMost = 256;   // of some no call will be read, as of those that were moved to another address
  thread.futex.hold = FutexCall::Hold::kNone;
  thread.futex.behind.clear();
  if (thread.futex.kind != FutexCall::Kind::kWait) return;   // but in a call on a pipe or the like (HandOverOrder)
  Threads& early = addresses_[thread.futex.address].early;
  early.push_back(&thread);
  if (early.size() > kMost) early.erase(early.begin());
}

void WakeOrder::forget(const MergeThread& thread, const std::vector<MergeThread*>& all) {
  for (MergeThread* t : all) std::erase_if(t->futex.behind, [&](const auto& b) { return b.first == &thread; });
  for (auto& [address, at] : addresses_) {
    std::erase(at.early, &thread);
    for (Wake& wake : at.wakes) std::replace(wake.gone_on.begin(), wake.gone_on.end(), &thread, static_cast<const MergeThread*>(nullptr));
  }
  std::erase_if(addresses_, [](const auto& entry) { return entry.second.early.empty() && entry.second.wakes.empty(); });
}

MergeThread* first_held(const std::vector<MergeThread*>& all) {
  using Hold = FutexCall::Hold;
  std::vector<MergeThread*> held;
  for (MergeThread* t : all)
    if (t->futex.hold == Hold::kByHeld && t->stage == MergeThread::Stage::kBlocked) held.push_back(t);
  const auto goes_on = [](const auto& b) { return is_runnable(*b.first) || b.first->futex.hold == Hold::kByRunning; };
  // Whoever is behind one that goes on does, too, in the end.
  const auto comes_behind = [&](MergeThread* t) {
    if (std::none_of(t->futex.behind.begin(), t->futex.behind.end(), goes_on)) return false;
    t->futex.hold = Hold::kByRunning;
    return true;
  };
  while (std::erase_if(held, comes_behind) != 0) {
  }
  const auto first = std::ranges::min_element(held, {}, &MergeThread::clock);
  return first == held.end() ? nullptr : *first;
}

}  // namespace simrun::channel
