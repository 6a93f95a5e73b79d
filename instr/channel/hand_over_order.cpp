#include "instr/channel/hand_over_order.h"

#include <algorithm>
#include <cerrno>

#include "instr/border/stream.h"
#include "instr/channel/virtual_time.h"

namespace simrun::channel {

namespace {

bool is_read(const MergeThread& thread, uint64_t place) { return thread.ring.place() >= place || thread.stage == MergeThread::Stage::kEnding; }

// The call that it is back from has not failed. (sigsuspend always says that it has.)
bool returned(const MergeThread& thread) {
  const std::span<const uint64_t> words = thread.ring.words();
  if (words.size() < 3 || static_cast<uint32_t>(words[0]) != static_cast<uint32_t>(border::Event::kSyscallExit)) return false;
  const auto result = static_cast<int64_t>(words[2]);
  return result >= 0 || result == -EINTR;
}

void forget_takes_before(MergeThread& thread, uint64_t place) {
  while (!thread.takes.empty() && thread.takes.front().place < place) thread.takes.pop_front();
}

}  // namespace

// What it has noted since. Of one that has made very many calls the oldest are lost.
void HandOverOrder::take_new(MergeThread& thread) {
  const std::atomic<uint64_t>& made = thread.ring.slot().hand_overs;
  const uint64_t end = made.load(std::memory_order_acquire);
  if (end == thread.hand_overs_taken) return;
  const border::HandOver* const table = thread.ring.process().hand_overs(thread.report.slot);
  if (table == nullptr) return;
  for (uint64_t k = std::max(thread.hand_overs_taken, end - std::min<uint64_t>(end, border::kHandOvers - 1)); k < end; ++k) {
    const border::HandOver& h = table[k % border::kHandOvers];
    const uint64_t object = h.object.load(std::memory_order_acquire), time = h.time.load(std::memory_order_acquire), place = h.place.load(std::memory_order_acquire);
    if (made.load(std::memory_order_acquire) - k >= border::kHandOvers) continue;   // written over meanwhile
    if ((object & border::HandOver::kTook) != 0) {
      thread.takes.push_back({object & ~border::HandOver::kTook, time, place});
      continue;
    }
    if (gives_.size() >= most_objects_) forget_read();
    Gives& gives = gives_[object];
    if (gives.list.size() >= gives.most) forget_read(gives);
    gives.list.push_back({&thread, time, place});
  }
  thread.hand_overs_taken = end;
}

void HandOverOrder::forget_read(Gives& gives) {
  std::erase_if(gives.list, [](const Give& g) { return is_read(*g.thread, g.place); });
  gives.most = 2 * gives.list.size() + 64;
}

void HandOverOrder::forget_read() {
  for (auto& [object, gives] : gives_) forget_read(gives);
  std::erase_if(gives_, [](const auto& entry) { return entry.second.list.empty(); });
  most_objects_ = 2 * gives_.size() + 1024;
}

bool HandOverOrder::may_go_on(MergeThread& thread, const std::vector<MergeThread*>& all) {
  FutexCall& call = thread.futex;
  if (call.kind == FutexCall::Kind::kWait) return true;
  if (!call.is_noted) {
    call.is_noted = true;
    call.behind.clear();
    forget_takes_before(thread, call.place);   // also of calls that fail all the time
    if (!returned(thread)) return true;
    for (MergeThread* t : all) take_new(*t);
    forget_takes_before(thread, call.place);
    if (thread.takes.empty() || thread.takes.front().place != call.place) return true;
    const HandOverTake back = thread.takes.front();
    const auto gives = gives_.find(back.object);
    if (gives == gives_.end()) return true;
    for (const Give& g : gives->second.list)
      if (g.thread != &thread && g.time < back.time && !is_read(*g.thread, g.place)) call.behind.emplace_back(g.thread, g.place);
  }
  return is_behind_all(thread, all);
}

void HandOverOrder::forget(const MergeThread& thread) {
  for (auto& [object, gives] : gives_) std::erase_if(gives.list, [&](const Give& g) { return g.thread == &thread; });
  std::erase_if(gives_, [](const auto& entry) { return entry.second.list.empty(); });
}

}  // namespace simrun::channel
