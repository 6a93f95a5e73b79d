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

void HandOverOrder::Gives::take_read(const MergeThread& thread) {
  for (; read < list.size() && is_read(thread, list[read].place); ++read) last_read = list[read].time;
  if (2 * read < list.size()) return;
  list.erase(list.begin(), list.begin() + static_cast<ptrdiff_t>(read));
  read = 0;
}

const HandOverOrder::Give* HandOverOrder::Gives::last_before(uint64_t time) const {
  const auto first = list.begin() + static_cast<ptrdiff_t>(read);
  const auto later = std::partition_point(first, list.end(), [&](const Give& g) { return g.time < time; });
  return later == first ? nullptr : &*(later - 1);
}

HandOverOrder::Object& HandOverOrder::object_of(uint64_t name) {
  if (objects_.size() >= most_objects_) {
    for (auto& [other, object] : objects_)
      for (auto& [giver, gives] : object.threads) gives.take_read(*giver);
    std::erase_if(objects_, [](const auto& entry) { return std::ranges::all_of(entry.second.threads, [](const auto& giver) { return giver.second.list.empty(); }); });
    most_objects_ = 2 * objects_.size() + 1024;
  }
  return objects_[name];
}

void HandOverOrder::take_new(MergeThread& thread) {
  constexpr uint64_t kFlags = border::HandOver::kTook | border::HandOver::kWaited;
  const std::atomic<uint64_t>& made = thread.ring.slot().hand_overs;
  const uint64_t end = made.load(std::memory_order_acquire);
  if (end == thread.hand_overs_taken) return;
  const border::HandOver* const table = thread.ring.process().hand_overs(thread.report.slot);
  if (table == nullptr) return;
  for (uint64_t k = std::max(thread.hand_overs_taken, end - std::min<uint64_t>(end, border::kHandOvers - 1)); k < end; ++k) {
    const border::HandOver& h = table[k % border::kHandOvers];
    const uint64_t noted = h.object.load(std::memory_order_acquire), time = h.time.load(std::memory_order_acquire), place = h.place.load(std::memory_order_acquire);
    if (made.load(std::memory_order_acquire) - k >= border::kHandOvers) continue;   // written over meanwhile
    Object& object = object_of(noted & ~kFlags);
    Gives& own = object.threads[&thread];
    const uint64_t before = std::min(own.made, own.taken);
    if ((noted & border::HandOver::kTook) != 0) {
      ++own.taken, ++object.taken;
      thread.takes.push_back({noted & ~kFlags, time, place, (noted & border::HandOver::kWaited) != 0});
    } else {
      ++own.made;
      own.take_read(thread);
      own.list.push_back({time, place});
    }
    object.given_back += std::min(own.made, own.taken) - before;
  }
  thread.hand_overs_taken = end;
}

void HandOverOrder::take_new(const std::vector<MergeThread*>& all) {
  for (MergeThread* t : all) take_new(*t);
}

void HandOverOrder::note_behind(MergeThread& thread, const HandOverTake& back) {
  const auto found = objects_.find(back.object);
  if (found == objects_.end()) return;
  Object& object = found->second;
  const bool is_token = object.is_token() && (back.object & border::HandOver::kNoToken) == 0;
  if (is_token && !back.waited) return;
  auto& behind = thread.futex.behind;
  const size_t first = behind.size();
  uint64_t last_time = 0;
  for (auto& [giver, gives] : object.threads) {
    if (giver == &thread) continue;
    gives.take_read(*giver);
    const Give* const give = gives.last_before(back.time);
    const uint64_t time = give != nullptr ? give->time : std::min(gives.last_read, back.time);
    if (is_token && time <= last_time) continue;
    if (is_token) behind.resize(first);
    last_time = time;
    if (give != nullptr) behind.emplace_back(giver, give->place);
  }
}

bool HandOverOrder::may_go_on(MergeThread& thread, const std::vector<MergeThread*>& all) {
  FutexCall& call = thread.futex;
  if (call.kind == FutexCall::Kind::kWait) return true;
  if (!call.is_noted) {
    call.is_noted = true;
    call.behind.clear();
    if (!returned(thread)) return true;
    take_new(all);
    forget_takes_before(thread, call.place);
    for (; !thread.takes.empty() && thread.takes.front().place == call.place; thread.takes.pop_front()) note_behind(thread, thread.takes.front());
  }
  return is_behind_all(thread, all);
}

void HandOverOrder::forget(const MergeThread& thread) {
  if (thread.hand_overs_taken == 0) return;
  for (auto& [name, object] : objects_) object.threads.erase(const_cast<MergeThread*>(&thread));
}

}  // namespace simrun::channel
