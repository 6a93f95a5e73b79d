#include "instr/channel/virtual_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "instr/border/stream.h"
#include "instr/channel/stream_error.h"

namespace simrun::channel {

using border::ThreadState;
using Stage = MergeThread::Stage;
using Clock = std::chrono::steady_clock;

VirtualTime::VirtualTime(const MergeOptions& options, Start start)
    : options_(options), start_(std::move(start)), schedule_(options.cores, options.time_slice, options.pins) {}

std::vector<VirtualTime::Expected>::const_iterator VirtualTime::announcement(const Origin& origin) const {
  return std::find_if(expected_.begin(), expected_.end(), [&](const Expected& e) {
    return e.kind == origin.kind && e.thread->process == origin.parent && e.token == origin.token;
  });
}

// It, or a thread of it, may still say of a process that it made.
bool VirtualTime::may_announce(uint32_t process) const {
  const auto& p = processes_[process];
  return p != nullptr && (p->alive || p->held || !p->searched || p->live != 0);
}

// In recorded order it is looked at from its first word on.
bool VirtualTime::is_expected(const Origin& origin) const {
  return origin.kind == Origin::Kind::kNone || options_.sampler != nullptr || announcement(origin) != expected_.end() || !may_announce(origin.parent);
}

uint32_t VirtualTime::add_process(const MappedProcess& mapped, const Origin& origin) {
  const auto index = static_cast<uint32_t>(processes_.size());
  processes_.push_back(std::make_unique<Process>());
  Process& process = *processes_.back();
  process.mapped = &mapped;
  process.origin = origin;
  process.by_slot.resize(border::kMaxThreads);
  if (options_.sampler != nullptr) options_.sampler->add(index, mapped);
  if (origin.kind == Origin::Kind::kNone) {
    without_origin_.push_back(index);
    return index;
  }
  process.held = true;
  const auto announced = announcement(origin);
  if (announced == expected_.end()) {
    release_held_orphans();   // now: as long as others are runnable nobody else does (look_for_threads)
    return index;
  }
  const Expected e = *announced;
  expected_.erase(announced);
  begin(index, e.clock, e.pid);
  return index;
}

// Its first thread is runnable at once, so that its words are waited for: when it would be only with its words, how soon
// the host starts a process would be in the order.
void VirtualTime::begin(uint32_t index, uint64_t clock, uint64_t pid) {
  Process& process = *processes_[index];
  if (process.origin.kind == Origin::Kind::kExec) {
    tree_.replace(process.origin.parent, index);
    // When the host has done away with the old image is nobody's business.
    for (MergeThread* t : known_)
      if (t->process == process.origin.parent) schedule_.forget(*t);
  }
  if (pid != 0) tree_.add(process.origin.parent, pid, index);
  if (process.origin.kind == Origin::Kind::kFork && processes_[process.origin.parent] != nullptr) process.shared = processes_[process.origin.parent]->shared;
  process.held = false;
  MergeThread& root = know(index, process.origin.root_slot);
  name(root, clock);
  start(root);
}

// Of one that is not, threads are looked for at once: as long as others are runnable, nobody else does (look_for_threads).
void VirtualTime::set_alive(uint32_t index, bool alive) {
  Process& process = *processes_[index];
  process.alive = alive;
  if (!alive && !process.searched && !process.held) start_roots(index);
}

bool VirtualTime::is_done(uint32_t index) const {
  const auto& process = processes_[index];
  if (process == nullptr || process->alive || !process->searched || process->live != 0 || process->held) return false;
  if (std::any_of(expected_.begin(), expected_.end(), [&](const Expected& e) { return e.thread->process == index; }))
    return false;
  return std::none_of(known_.begin(), known_.end(), [&](const MergeThread* t) { return t->process == index; });
}

void VirtualTime::forget(uint32_t process) {
  if (options_.sampler != nullptr) options_.sampler->remove(process);
  tree_.forget(process);
  processes_[process].reset();
}

bool VirtualTime::has_read_all(uint32_t process) {
  for (size_t k = 0; k < known_.size(); ++k) {
    MergeThread& thread = *known_[k];
    if (thread.process != process) continue;
    if (has_words(thread)) return false;
    if (!thread.unborn.empty()) release_children(thread);  // it is stopped, so its going on cannot be waited for
  }
  return true;
}

bool VirtualTime::finished() const {
  return live_ == 0 && expected_.empty() && std::none_of(processes_.begin(), processes_.end(), [](const auto& p) {
           return p && (!p->searched || p->held);
         });
}

void VirtualTime::fork(MergeThread& thread, uint64_t pid, uint64_t token) {
  thread.turn_end = thread.clock;
  for (uint32_t k = 0; k < processes_.size(); ++k) {
    const auto& p = processes_[k];
    if (p && p->held && p->origin.kind == Origin::Kind::kFork && p->origin.parent == thread.process &&
        p->origin.token == token)
      return begin(k, thread.clock, pid);
  }
  expected_.push_back({Origin::Kind::kFork, &thread, token, pid, thread.clock});
}

void VirtualTime::exec(MergeThread& thread) {
  set_stage(thread, Stage::kBlocked);
  for (uint32_t k = 0; k < processes_.size(); ++k) {
    const auto& p = processes_[k];
    if (p && p->held && p->origin.kind == Origin::Kind::kExec && p->origin.parent == thread.process)
      return begin(k, thread.clock);
  }
  expected_.push_back({Origin::Kind::kExec, &thread, 0, 0, thread.clock});
}

// What was announced and has not been added: is it still to come?
bool VirtualTime::is_settled(const Expected& e) {
  if (e.kind == Origin::Kind::kExec) return !(find_image_ && find_image_(e.thread->process)) && (has_words(*e.thread) || !alive(*e.thread));
  if (find_child_ && find_child_(e.thread->process, e.token, e.pid) != ChildState::kNative) return false;
  ++native_children_;
  return true;
}

bool VirtualTime::waits_for_children() {
  std::erase_if(expected_, [&](const Expected& e) { return is_settled(e); });
  return !expected_.empty();
}

// A child whose parent died before it could announce it: when all is read that the parent wrote.
void VirtualTime::release_held_orphans() {
  for (uint32_t k = 0; k < processes_.size(); ++k) {
    const auto& p = processes_[k];
    if (!p || !p->held || may_announce(p->origin.parent)) continue;
    const MergeThread* first = smallest_clock();
    begin(k, first == nullptr ? 0 : first->clock);
  }
}

MergeThread* VirtualTime::next() {
  waits_for_runnable_ = true;
  if (!expected_.empty() && waits_for_children()) return nullptr;
  if (waiting_ != 0) poll_all();
  waits_for_runnable_ = false;
  if (options_.sampler != nullptr) return next_recorded();
  for (;;) {
    const bool goes_on =
        current_ != nullptr && current_->stage == Stage::kRunnable && current_->clock < current_->turn_end;
    if (!goes_on && current_ != nullptr && current_->stage == Stage::kRunnable) rotate(*current_);
    MergeThread* thread = goes_on ? current_ : smallest_clock();
    if (thread == nullptr) {
      current_ = nullptr;
      const uint32_t live = live_;
      look_for_threads();
      if ((thread = smallest_clock()) == nullptr) {
        if (live_ < live) continue;  // one was ended, there may be others
        return nullptr;
      }
    }
    if (!goes_on) thread->turn_end = thread->clock + options_.quantum;
    current_ = thread;
    if (has_words(*thread)) {
      thread->waited_since = {};
      const bool is_let_go = std::exchange(thread->is_let_go, false);
      if ((!is_let_go || hand_overs_.may_go_on(*thread, known_)) && (!thread->wait.is_woken() || may_leave_wait(*thread))) return thread;
      thread->wait.ended = WaitCall::kNobody;  // it was another child's end, or by more than what has been read
      set_stage(*thread, Stage::kBlocked);
      continue;
    }
    if (pass_turn(*thread) || step_back(*thread)) continue;
    waits_for_runnable_ = true;
    return nullptr;
  }
}

// Whoever had written something when everybody was looked at, the smallest clock first; then what was written until the
// next look. Nobody is waited for.
MergeThread* VirtualTime::next_recorded() {
  if (current_ != nullptr && current_->stage == Stage::kRunnable && current_->clock >= current_->turn_end)
    rotate(*current_);
  for (;;) {
    current_ = smallest_clock_within_look();
    if (current_ == nullptr) {
      look_for_threads();
      current_ = smallest_clock_within_look();
    }
    if (current_ != nullptr) {
      current_->turn_end = current_->clock + options_.quantum;
      return current_;
    }
    if (!options_.sampler->next()) return nullptr;
    if (waiting_ != 0) poll_all();
  }
}

MergeThread* VirtualTime::smallest_clock_within_look() {
  MergeThread* best = nullptr;
  for (size_t i = 0; i < known_.size(); ++i) {
    MergeThread& t = *known_[i];
    if (t.stage != Stage::kRunnable) continue;
    if (!has_words(t)) {
      const bool dead = t.ring.slot().ring.state.load(std::memory_order_acquire) == static_cast<uint32_t>(ThreadState::kDead);
      if ((dead || !alive(t)) && !has_words(t)) end(t);
      continue;
    }
    if (t.ring.place() >= options_.sampler->limit(t.process, t.report.slot)) continue;
    if (best == nullptr || t.clock < best->clock) best = &t;
  }
  return best;
}

bool VirtualTime::has_words(MergeThread& thread) {
  if (!thread.ring.empty() && !thread.needs_more) return true;
  if (!thread.ring.refresh(!alive(thread))) return false;
  thread.needs_more = false;
  return true;
}

MergeThread* VirtualTime::smallest_clock() {
  MergeThread* best = nullptr;
  for (MergeThread* t : known_) {
    if (t->stage != Stage::kRunnable) continue;
    if (best == nullptr || t->clock < best->clock || (t->clock == best->clock && t->report.index < best->report.index))
      best = t;
  }
  return best;
}

uint64_t VirtualTime::smallest_clock_of_others(const MergeThread& thread) const {
  uint64_t smallest = std::numeric_limits<uint64_t>::max();
  for (const MergeThread* t : known_)
    if (t != &thread && t->stage == Stage::kRunnable) smallest = std::min(smallest, t->clock);
  return smallest;
}

void VirtualTime::look_for_attached() {
  for (const uint32_t k : without_origin_)
    if (processes_[k] != nullptr) start_roots(k);
}

// Threads that nobody in their process created.
void VirtualTime::start_roots() {
  for (uint32_t k = 0; k < processes_.size(); ++k)
    if (processes_[k] != nullptr && !processes_[k]->held) start_roots(k);
}

// When nobody is runnable.
void VirtualTime::look_for_threads() {
  start_roots();
  release_held_orphans();
  poll_all();
  if (smallest_clock() != nullptr) return;
  // What a parent waits for the end of has no words left, and will be seen to have ended.
  for (MergeThread* t : known_)
    if (t->stage == Stage::kBlocked && has_words(*t) && !may_leave_wait(*t)) return rejoin(*t);
  // Nothing else is left: children whose kThreadCreate was lost with their process.
  MergeThread* const orphan = first_orphan();
  if (orphan == nullptr) return;
  if (orphan->ring.empty())
    end(*orphan);
  else
    name_and_start(*orphan);
}

void VirtualTime::start_roots(uint32_t index) {
  Process& process = *processes_[index];
  process.searched = !process.alive;
  for (uint32_t slot = 0; slot < process.mapped->slots_used(); ++slot) {
    const auto& known = process.by_slot[slot];
    if (known != nullptr && (known->stage != Stage::kHeld || known->created)) continue;
    const auto state = process.mapped->slot(slot).ring.state.load(std::memory_order_acquire);
    if (state == static_cast<uint32_t>(ThreadState::kFree)) continue;
    MergeThread& thread = know(index, slot);
    if (parent_slot(thread) == ~uint32_t{0}) name_and_start(thread);
  }
}

// What its kThreadStart says; its own slot if that is not there to be read.
uint32_t VirtualTime::parent_slot(MergeThread& thread) {
  const auto words = has_words(thread) ? thread.ring.words() : std::span<const uint64_t>{};
  const bool starts =
      words.size() > 2 && static_cast<uint32_t>(words[0]) == static_cast<uint32_t>(border::Event::kThreadStart);
  return starts ? static_cast<uint32_t>(words[2]) : thread.report.slot;
}

MergeThread* VirtualTime::first_orphan() {
  for (const auto& p : processes_) {
    if (p == nullptr || p->held || p->alive) continue;
    if (MergeThread* const orphan = first_orphan(*p)) return orphan;
  }
  return nullptr;
}

// An orphan's own creations must be read before the threads that it created are taken for orphans: one whose parent is
// none. (No such one: a kThreadStart is missing, any will do.)
MergeThread* VirtualTime::first_orphan(Process& process) {
  const auto is_orphan = [&](uint32_t slot) {
    const auto& t = process.by_slot[slot];
    return t != nullptr && t->stage == Stage::kHeld && !t->created;
  };
  MergeThread* any = nullptr;
  for (uint32_t slot = 0; slot < process.mapped->slots_used(); ++slot) {
    if (!is_orphan(slot)) continue;
    MergeThread& thread = *process.by_slot[slot];
    const uint32_t parent = parent_slot(thread);
    if (parent == slot || parent >= process.by_slot.size() || !is_orphan(parent)) return &thread;
    if (any == nullptr) any = &thread;
  }
  return any;
}

void VirtualTime::name_and_start(MergeThread& thread) {
  const uint64_t others = smallest_clock_of_others(thread);
  name(thread, others == std::numeric_limits<uint64_t>::max() ? 0 : others);
  start(thread);
}

MergeThread& VirtualTime::know(uint32_t index, uint32_t slot) {
  Process& process = *processes_[index];
  auto& known = process.by_slot[slot];
  if (known == nullptr) {
    known = std::make_unique<MergeThread>(*process.mapped, index, slot);
    known_.push_back(known.get());
    ++process.live;
    ++live_;
    ++waiting_;
  }
  return *known;
}

// Numbers a thread and gives it to the sink: at its creation in virtual time, so that cores do not depend on host
// timing.
void VirtualTime::name(MergeThread& thread, uint64_t clock) {
  thread.created = true;
  thread.clock = thread.report.start_clock = clock;
  thread.report.index = next_index_++;
  schedule_.adopt(thread);
  thread.report.core = thread.core != MergeThread::kNoCore ? thread.core : thread.report.index;
  thread.replay.handle = start_(thread.report);
}

void VirtualTime::start(MergeThread& thread) { set_stage(thread, Stage::kRunnable); }

// kRunnable: if it gets a core, else kReady.
void VirtualTime::set_stage(MergeThread& thread, Stage stage) {
  const bool waited = thread.stage != Stage::kRunnable && thread.stage != Stage::kReady;
  const bool waits = stage != Stage::kRunnable;
  MergeThread* next = nullptr;
  if (schedule_.is_on()) {
    if (!waits) {
      if (!waited) return;
      if (schedule_.enter(thread))
        run(thread);
      else
        stage = Stage::kReady;
    } else if (!waited) {
      next = schedule_.leave(thread);
    }
  }
  waiting_ += static_cast<uint32_t>(waits) - static_cast<uint32_t>(waited);
  if (waits && !waited) left_at_ = std::max(left_at_, thread.clock);
  thread.stage = stage;
  thread.waited_since = {};
  if (next != nullptr) run(*next);
}

// It has got a core.
void VirtualTime::run(MergeThread& thread) {
  thread.stage = Stage::kRunnable;
  thread.waited_since = {};
  if (run_on_) thread.replay.handle = run_on_(thread.report);
}

void VirtualTime::rotate(MergeThread& thread) {
  MergeThread* const next = schedule_.rotate(thread);
  if (next == nullptr) return;
  thread.stage = Stage::kReady;
  run(*next);
}

void VirtualTime::create_child(MergeThread& thread, uint64_t slot) {
  if (slot >= border::kMaxThreads) throw StreamError(fmt::format("creates a thread in slot {}", slot));
  MergeThread& child = know(thread.process, static_cast<uint32_t>(slot));
  if (child.created) throw StreamError(fmt::format("creates a thread in slot {}, which is in use", slot));
  name(child, thread.clock);
  thread.unborn.push_back(child.report.slot);
}

void VirtualTime::drop_child(MergeThread& thread, uint64_t slot) {
  const auto found = std::find(thread.unborn.begin(), thread.unborn.end(), slot);
  if (found == thread.unborn.end())
    throw StreamError(fmt::format("takes back a thread in slot {} that it did not create", slot));
  thread.unborn.erase(found);
  MergeThread& child = *processes_[thread.process]->by_slot[slot];
  --live_;
  --processes_[thread.process]->live;
  child.stage = Stage::kEnding;  // no report; released when its parent has written it off
  schedule_.forget(child);
}

// A child may have run and ended meanwhile, and its slot belong to one that nobody has been heard to create yet.
void VirtualTime::release_children(MergeThread& thread) {
  for (uint32_t slot : thread.unborn)
    if (const auto& child = processes_[thread.process]->by_slot[slot];
        child != nullptr && child->created && child->stage == Stage::kHeld)
      start(*child);
  thread.unborn.clear();
}

// Count mode: what it retired after its last report, as far as it could say; the process ended in its midst.
void VirtualTime::take_last_count(MergeThread& thread) {
  if (thread.report.ended || processes_[thread.process]->mapped->header().mode != border::Mode::kCount) return;
  const uint64_t total = thread.ring.slot().retired.load(std::memory_order_acquire);
  if (total <= thread.counted) return;
  thread.replay.statistics.instructions += total - thread.counted;
  thread.clock += total - thread.counted;
  thread.counted = total;
}

namespace {

// The process was killed while the thread ran: what it had not published by then is lost.
bool is_cut_off(const MergeThread& thread) {
  const border::ThreadSlot& slot = thread.ring.slot();
  return !thread.report.ended && slot.in_cache.load(std::memory_order_acquire) != 0 && slot.published.load(std::memory_order_acquire) == 0;
}

}  // namespace

void VirtualTime::end(MergeThread& thread) {
  thread.replay.statistics.truncated_words += thread.ring.words().size();
  take_last_count(thread);
  thread.report.cut_off = is_cut_off(thread);
  thread.report.end_clock = thread.clock;
  thread.report.ended_before = next_index_;
  for (WakeOrder* wakes : {&processes_[thread.process]->wakes, &shared_wakes_}) wakes->end(thread.report.tid);
  if (thread.created) ended_.push_back(report_of(thread));
  --live_;
  --processes_[thread.process]->live;
  set_stage(thread, Stage::kEnding);
  schedule_.forget(thread);
  if (processes_[thread.process]->live == 0) wake_parent(thread.process);
}

// Its slot is free again when the thread has ended. A process that we merely read no longer goes on writing there: that slot stays
// taken, and known.
void VirtualTime::release(MergeThread& thread) {
  if (current_ == &thread) current_ = nullptr;
  --waiting_;
  known_.erase(std::find(known_.begin(), known_.end(), &thread));
  for (WakeOrder* wakes : {&processes_[thread.process]->wakes, &shared_wakes_}) wakes->forget(thread, known_);
  hand_overs_.forget(thread);
  auto& state = thread.ring.slot().ring.state;
  if (state.load(std::memory_order_acquire) != static_cast<uint32_t>(ThreadState::kDead)) return;
  thread.ring.reset();
  state.store(static_cast<uint32_t>(ThreadState::kFree), std::memory_order_release);
  processes_[thread.process]->by_slot[thread.report.slot].reset();
}

ThreadReport VirtualTime::report_of(const MergeThread& thread) const {
  ThreadReport report = thread.report;
  if (report.tid == 0) report.tid = thread.ring.slot().ring.tid.load(std::memory_order_relaxed);
  report.end_clock = thread.clock;
  report.statistics = thread.replay.statistics;
  report.statistics.words = thread.ring.words_consumed();
  return report;
}

std::vector<ThreadReport> VirtualTime::reports() const {
  std::vector<ThreadReport> all = ended_;
  for (const MergeThread* t : known_)
    if (t->created && t->stage != Stage::kEnding) all.push_back(report_of(*t));
  std::sort(all.begin(), all.end(), [](const ThreadReport& a, const ThreadReport& b) { return a.index < b.index; });
  return all;
}

}  // namespace simrun::channel
