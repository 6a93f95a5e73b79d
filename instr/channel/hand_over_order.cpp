#include "instr/channel/hand_over_order.h"

#include <algorithm>
#include <cerrno>
#include <utility>

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

bool gives(uint64_t flags) {
  const uint64_t kind = flags & border::HandOver::kHas;
  return kind == 0 || kind == border::HandOver::kHas;
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

const HandOverOrder::Give* HandOverOrder::Gives::last_before(uint64_t time, uint64_t upto) const {
  const auto first = list.begin() + static_cast<ptrdiff_t>(read);
  const auto later = std::partition_point(first, list.end(), [&](const Give& g) { return g.time < time && g.from < upto; });
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

void HandOverOrder::pull(MergeThread& thread) {
  constexpr uint64_t kFlags = border::HandOver::kTook | border::HandOver::kWaited | border::HandOver::kGaveLess;
  const std::atomic<uint64_t>& made = thread.ring.slot().hand_overs;
  const uint64_t end = made.load(std::memory_order_acquire);
  if (end == thread.hand_overs_taken) return;
  const border::HandOver* const table = thread.ring.process().hand_overs(thread.report.slot);
  if (table == nullptr) return;
  if (end - thread.hand_overs_taken >= border::kHandOvers) thread.lost_hand_overs = true;
  for (uint64_t k = std::max(thread.hand_overs_taken, end - std::min<uint64_t>(end, border::kHandOvers - 1)); k < end; ++k) {
    const border::HandOver& h = table[k % border::kHandOvers];
    const uint64_t object = h.object.load(std::memory_order_acquire), time = h.time.load(std::memory_order_acquire), place = h.place.load(std::memory_order_acquire),
                   units = h.units.load(std::memory_order_acquire), began = h.began.load(std::memory_order_acquire);
    if (made.load(std::memory_order_acquire) - k >= border::kHandOvers) {   // written over meanwhile
      thread.lost_hand_overs = true;
      continue;
    }
    pulled_.push_back({&thread, object & ~kFlags, object & kFlags, time, place, units, began});
    if (gives(object)) thread.gives.emplace_back(object & ~kFlags, place);
  }
  thread.hand_overs_taken = end;
}

// What was given since then began earlier.
void HandOverOrder::take_back(Object& object, const Noted& call) {
  object.given -= std::min(object.given, call.units);
  for (auto give = object.last.rbegin(); give != object.last.rend() && give->first >= call.time; ++give) give->second -= std::min(give->second, call.units);
  for (auto& [giver, gives] : object.threads)
    for (auto g = gives.list.rbegin(); g != gives.list.rend() && g->time > call.time; ++g) g->from -= std::min(g->from, call.units);
}

uint64_t HandOverOrder::Object::given_before(uint64_t time) const {
  const auto later = std::partition_point(last.begin(), last.end(), [&](const auto& give) { return give.first < time; });
  return later == last.begin() ? 0 : std::prev(later)->second;
}

// Who has waited has found nothing: what it took then was not given before it came. Else something went elsewhere, or never came, unseen. (Rarely a
// call that gives has been noted and not been made when the other one finds nothing, or another that took is back later.)
void HandOverOrder::check_count(Object& object, const Noted& take) {
  constexpr uint64_t kFew = 4;
  if (!object.is_counted || take.units == 0 || (take.flags & border::HandOver::kWaited) == 0) return;
  ++object.waits;
  object.is_doubted = object.taken <= object.given_before(take.began);
  object.contradictions += object.is_doubted ? 1 : 0;
  if (object.contradictions > kFew && 2 * object.contradictions > object.waits) object.is_counted = false;
}

void HandOverOrder::note(const Noted& call) {
  constexpr size_t kLast = 64;
  Object& object = object_of(call.object);
  const bool replaces = (call.flags & border::HandOver::kHas) == border::HandOver::kHas && !object.last.empty();
  if (call.units == border::HandOver::kUncounted || call.by->lost_hand_overs || replaces) object.is_counted = false;
  if (!gives(call.flags) && (call.flags & border::HandOver::kGaveLess) != 0) return take_back(object, call);
  Gives& own = object.threads[call.by];
  const uint64_t before = std::min(own.made, own.taken), units = object.is_counted ? call.units : 0;
  if (gives(call.flags)) {
    ++own.made, ++object.calls;
    own.take_read(*call.by);
    own.list.push_back({call.time, call.place, object.given});
    object.given += units;
    object.last.emplace_back(call.time, object.given);
    if (object.last.size() > kLast) object.last.pop_front();
  } else {
    ++own.taken;
    object.taken += units;
    check_count(object, call);
    call.by->takes.push_back({call.object, call.time, call.place, object.is_doubted ? ~uint64_t{0} : object.taken, (call.flags & border::HandOver::kWaited) != 0});
  }
  object.given_back += std::min(own.made, own.taken) - before;
}

void HandOverOrder::take_new(const std::vector<MergeThread*>& all) {
  for (MergeThread* t : all) pull(*t);
  note_pulled();
}

void HandOverOrder::note_pulled() {
  std::ranges::stable_sort(pulled_, {}, &Noted::time);
  for (const Noted& call : pulled_) note(call);
  pulled_.clear();
}

void HandOverOrder::note_behind(MergeThread& thread, const HandOverTake& back) {
  const auto found = objects_.find(back.object);
  if (found == objects_.end()) return;
  Object& object = found->second;
  const bool is_token = object.is_token() && (back.object & border::HandOver::kNoToken) == 0;
  if (is_token && !back.waited) return;
  if (object.taken > object.given) object.is_counted = false;   // others give there, too
  const uint64_t upto = object.is_counted ? back.upto : ~uint64_t{0};
  auto& behind = thread.futex.behind;
  const size_t first = behind.size();
  uint64_t last_time = 0;
  for (auto& [giver, gives] : object.threads) {
    if (giver == &thread) continue;
    gives.take_read(*giver);
    const Give* const give = gives.last_before(back.time, upto);
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

void HandOverOrder::enter(MergeThread& thread) {
  leave(thread);
  const uint64_t object = thread.ring.slot().waits_on.load(std::memory_order_relaxed);
  thread.is_let_go = object == border::ThreadSlot::kGives;
  if (object == 0 || thread.is_let_go) return;
  thread.waits_on = object;
  waiting_[object].push_back(&thread);
  const auto found = objects_.find(object);
  thread.is_let_go = found != objects_.end() && found->second.is_counted && found->second.given > found->second.taken;
}

void HandOverOrder::leave(MergeThread& thread) {
  if (const uint64_t object = std::exchange(thread.waits_on, 0); object != 0) {
    const auto at = waiting_.find(object);
    std::erase(at->second, &thread);
    if (at->second.empty()) waiting_.erase(at);
  }
  thread.is_let_go = false;
}

std::vector<MergeThread*> HandOverOrder::exit(MergeThread& thread) {
  leave(thread);
  pull(thread);
  std::vector<MergeThread*> let_go;
  for (; !thread.gives.empty() && thread.gives.front().second <= thread.futex.place + 1; thread.gives.pop_front()) {
    const auto at = waiting_.find(thread.gives.front().first);
    if (at == waiting_.end() || at->second.size() != 1) continue;   // which of them is not known
    MergeThread* const t = at->second.front();
    if (t->stage == MergeThread::Stage::kBlocked && t->ring.empty()) let_go.push_back(t);
  }
  for (MergeThread* t : let_go) t->is_let_go = true;
  return let_go;
}

void HandOverOrder::forget(MergeThread& thread) {
  leave(thread);
  pull(thread);
  note_pulled();   // what it gave and took counts
  if (thread.hand_overs_taken == 0) return;
  for (auto& [name, object] : objects_) object.threads.erase(&thread);
}

}  // namespace simrun::channel
