#include "instr/channel/wake_order.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
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

// A call on something that threads hand over to each other by, which was back at that time; object 0: it was none.
struct Back {
  uint64_t object = 0, time = 0;
};

// The hand-overs of a thread, which makes more of them meanwhile. By number; `none` if it is not known any more.
class HandOvers {
 public:
  struct One {
    uint64_t object, begun, back, place;
  };
  explicit HandOvers(const MergeThread& thread)
      : all_(thread.ring.slot().hand_overs), last_(thread.ring.process().hand_overs(thread.report.slot)) {}

  uint64_t end() const { return all_.load(std::memory_order_acquire); }
  uint64_t first() const { return end() - std::min<uint64_t>(end(), border::kHandOvers - 1); }   // the next one is perhaps being written
  One operator[](uint64_t number) const {
    const border::HandOver& h = last_[number % border::kHandOvers];
    return {h.object.load(std::memory_order_acquire), h.begun.load(std::memory_order_acquire), h.back.load(std::memory_order_acquire), h.place.load(std::memory_order_acquire)};
  }

 private:
  const std::atomic<uint64_t>& all_;
  const border::HandOver* last_;
};

// The call that it is back from, and that did not fail.
Back returned_from_hand_over(const MergeThread& thread) {
  const std::span<const uint64_t> words = thread.ring.words();
  if (words.size() < 3 || static_cast<uint32_t>(words[0]) != static_cast<uint32_t>(border::Event::kSyscallExit)) return {};
  const auto result = static_cast<int64_t>(words[2]);
  if (result < 0 && result != -EINTR) return {};   // sigsuspend
  const HandOvers calls(thread);
  uint64_t first = calls.first(), last = calls.end();
  while (first < last) {   // places ascend
    const uint64_t middle = first + (last - first) / 2;
    const HandOvers::One call = calls[middle];
    if (call.place == thread.futex.place) return middle >= calls.first() ? Back{call.object, call.back} : Back();
    if (call.place < thread.futex.place)
      first = middle + 1;
    else
      last = middle;
  }
  return {};
}

// Behind the last call on the same thing that the thread had begun by then; 0: it has been read, or there is none. When the thread has made so many
// since that this is not known any more: behind the oldest one that is.
uint64_t place_of_hand_over(const MergeThread& thread, const Back& back) {
  const HandOvers calls(thread);
  const uint64_t read = thread.ring.place();
  uint64_t oldest = 0;
  for (uint64_t k = calls.end(); k-- > 0;) {
    const HandOvers::One call = calls[k];
    if (k < calls.first()) return oldest;
    if (call.place <= read) return 0;
    oldest = call.place;
    if (call.object == back.object && call.begun < back.time) return call.place;
  }
  return 0;
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
  using Hold = FutexCall::Hold;
  FutexCall& call = thread.futex;
  call.hold = Hold::kNone;
  const bool was_in_futex = call.kind == FutexCall::Kind::kWait && returned_woken(thread);
  if (was_in_futex && was_woken(thread)) {
    call.is_woken = false;
    return true;
  }
  if (!call.is_noted) {
    const Back back = was_in_futex ? Back() : returned_from_hand_over(thread);
    if (!was_in_futex && back.object == 0) return true;
    call.is_noted = true;
    call.behind.clear();
    for (MergeThread* t : all)
      if (t != &thread && t->stage != MergeThread::Stage::kHeld)
        call.behind.emplace_back(t, was_in_futex ? place_of(t->ring.process(), t->report.slot) : place_of_hand_over(*t, back));
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
  constexpr size_t kMost = 256;   // of some no call will be read, as of those that were moved to another address
  thread.futex.hold = FutexCall::Hold::kNone;
  if (thread.futex.kind != FutexCall::Kind::kWait) return;
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
  MergeThread* first = nullptr;
  for (MergeThread* t : all) {
    if (t->futex.hold != Hold::kByHeld || t->stage != MergeThread::Stage::kBlocked) continue;
    const auto goes_on = [](const auto& b) { return is_runnable(*b.first) || b.first->futex.hold == Hold::kByRunning; };
    if (std::any_of(t->futex.behind.begin(), t->futex.behind.end(), goes_on)) continue;
    if (first == nullptr || t->clock < first->clock) first = t;
  }
  return first;
}

}  // namespace simrun::channel
