// Who is not runnable, and when it is again (docs/order.md, "Who is runnable").
#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "instr/border/stream.h"
#include "instr/channel/virtual_time.h"

namespace simrun::channel {

using border::ThreadState;
using Stage = MergeThread::Stage;
using Clock = std::chrono::steady_clock;

namespace {

ThreadState state_of(const MergeThread& thread) {
  return static_cast<ThreadState>(thread.ring.slot().ring.state.load(std::memory_order_acquire));
}

// As /proc has it: 'R' runs, and so on (proc_pid_stat(5)); 0: there is no such thread.
char host_state(uint32_t tid) {
  std::ifstream file(fmt::format("/proc/{}/stat", tid));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  return name_end == std::string::npos || text.size() <= name_end + 2 ? '\0' : text[name_end + 2];
}

// Whatever its state is, it does not sleep (proc_pid_wchan(5)): who looks for ended children is said to, as long as the kernel does that for it.
bool is_awake(uint32_t tid) {
  std::ifstream file(fmt::format("/proc/{}/wchan", tid));
  return file.get() == '0';
}

// The thread runs, or would if the host had a processor for it or were done with its disk.
bool wants_processor(uint32_t tid) {
  const char state = host_state(tid);
  return state == 'R' || state == 'D';
}

bool wants_processor(const MergeThread& thread) {
  const uint32_t tid = thread.ring.slot().ring.tid.load(std::memory_order_relaxed);
  return tid == 0 || wants_processor(tid);  // 0: it has not got to say its number yet
}

}  // namespace

// A runnable thread has no words. True: it is not runnable after all (or words have come): choose again.
bool VirtualTime::step_back(MergeThread& thread) {
  const ThreadState state = state_of(thread);
  if (has_words(thread)) return true;  // written before the state that we just read
  if (!alive(thread) || state == ThreadState::kDead) {
    end(thread);
    return true;
  }
  // Who has been woken, too, is in the kernel until the host gives it a processor. If it does not want one it was another that was woken.
  const bool is_woken = thread.futex.is_woken || thread.is_let_go || thread.wait.is_woken();
  if (state == ThreadState::kInKernel && is_woken && (its_child_still_ends(thread) || wants_processor(thread))) return stalled(thread);
  if (state == ThreadState::kInKernel || state == ThreadState::kWaitingInEngine) {
    thread.futex.is_woken = false;
    thread.wait.ended = WaitCall::kNobody;
    if (has_words(thread)) return true;
    thread.is_let_go = false;   // else it is looked at whether it may go on (next)
    set_stage(thread, Stage::kBlocked);
    return true;
  }
  return stalled(thread);
}

bool VirtualTime::stalled(MergeThread& thread) {
  // A call that mostly is short may wait for something that another thread is to do.
  const bool waits_for_end = its_child_still_ends(thread);
  const bool is_in_call = state_of(thread) == ThreadState::kInShortCall || waits_for_end;
  constexpr int kMostInCall = 10, kMost = 100;
  const auto now = Clock::now();
  if (thread.waited_since == Clock::time_point{}) {
    thread.waited_since = now;
    thread.excuses = 0;
    return false;
  }
  if (now - thread.waited_since < options_.stall_time_out * (1 + thread.excuses)) return false;
  // A full machine must not change the order.
  const auto is_held_up = [&] { return wants_processor(thread) || (waits_for_end && wants_processor(thread.wait.ended_tid)); };
  if ((is_in_call && thread.excuses < kMostInCall) || (thread.excuses < kMost && is_held_up())) {
    ++thread.excuses;
    return false;
  }
  const auto waits = [&](MergeThread* t) {
    return t != &thread && (t->stage == Stage::kRunnable || t->stage == Stage::kReady) && has_words(*t);
  };
  if (std::none_of(known_.begin(), known_.end(), waits)) {
    start_roots();  // attached: the others may be there by now, and nobody has looked for them yet
    if (std::none_of(known_.begin(), known_.end(), waits)) return false;
  }
  thread.wait.ended = WaitCall::kNobody;
  if (!is_in_call) ++thread.replay.statistics.stalls;
  set_stage(thread, is_in_call ? Stage::kBlocked : Stage::kAside);
  return true;
}

void VirtualTime::poll_all() {
  constexpr uint32_t kPolls = 64;   // each look at a thousand threads' tables is one cache miss for each
  if (options_.sampler == nullptr && ++polls_ % kPolls == 0) hand_overs_.take_new(known_);
  for (size_t i = 0; i < known_.size();) {
    MergeThread* thread = known_[i];
    if (thread->stage != Stage::kRunnable) poll(*thread);
    if (i < known_.size() && known_[i] == thread) ++i;  // else it was released
  }
  if (MergeThread* const held = first_held(known_)) {
    wakes_of(*held).let_go(*held);
    rejoin(*held);
  }
}

void VirtualTime::poll(MergeThread& thread) {
  const auto state = static_cast<ThreadState>(thread.ring.slot().ring.state.load(std::memory_order_acquire));
  switch (thread.stage) {
    case Stage::kHeld:
      if (thread.created && has_words(thread))
        start(thread);
      else if (thread.created && !alive(thread))
        end(thread);
      return;
    case Stage::kBlocked:
    case Stage::kAside:
      if (has_words(thread)) {
        if (options_.sampler != nullptr || (wakes_of(thread).may_go_on(thread, known_) && hand_overs_.may_go_on(thread, known_) && may_leave_wait(thread))) rejoin(thread);
      } else if (!alive(thread) || state == ThreadState::kDead) {
        end(thread);
      }
      return;
    case Stage::kEnding:
      if (!alive(thread) || state == ThreadState::kDead) release(thread);
      return;
    case Stage::kRunnable:
    case Stage::kReady:
      return;
  }
}

void VirtualTime::rejoin(MergeThread& thread) {
  const uint64_t others = smallest_clock_of_others(thread);
  thread.clock = std::max(thread.clock, others == std::numeric_limits<uint64_t>::max() ? left_at_ : others);
  set_stage(thread, Stage::kRunnable);
}

// Of its time slice, in instructions, what a call that does not block takes natively: one that polls would keep its core for a hundred
// thousand calls of the host.
constexpr uint64_t kSliceOfCall = 1000;

namespace {

// Shells wait by sigsuspend, too.
bool may_be_told_of_children(uint64_t call) {
  return call == SYS_wait4 || call == SYS_waitid || call == SYS_rt_sigsuspend || call == SYS_pause;
}

}  // namespace

// Runnable again when it is back, whatever the delay was: so the order does not depend on how soon we look.
void VirtualTime::enter_call(MergeThread& thread, std::span<const uint64_t> payload) {
  WakeOrder::enter(thread, payload);
  FutexCall& call = thread.futex;
  if (call.kind != FutexCall::Kind::kNone && call.is_shared) {
    const std::optional<uint64_t> name = processes_[thread.process]->shared.name_of(call.address);
    call.is_shared = name.has_value();
    if (name) call.address = *name;
  }
  thread.wait.is_in = !payload.empty() && may_be_told_of_children(payload[0]);
  if (payload.size() > 1 && payload[1] != 0) {
    leave(thread);
    if (options_.sampler == nullptr && wakes_of(thread).is_woken(thread)) {
      thread.futex.is_woken = true;
      rejoin(thread);
    } else if (options_.sampler == nullptr && !has_words(thread)) {
      hand_overs_.enter(thread);
      if (thread.is_let_go) rejoin(thread);
    }
  } else if (!payload.empty() && payload[0] == SYS_sched_yield) {
    yield(thread);
  } else {
    thread.slice_end -= std::min(thread.slice_end, kSliceOfCall);
  }
}

void VirtualTime::exit_call(MergeThread& thread, std::span<const uint64_t> payload) {
  const std::vector<MergeThread*> woken = wakes_of(thread).exit(thread, payload, known_);
  if (payload.size() > 2 && (payload[0] == SYS_wait4 || payload[0] == SYS_waitid)) tree_.reap(thread.process, payload[2]);
  thread.wait = {};
  if (options_.sampler != nullptr) return;
  for (MergeThread* t : woken) rejoin(*t);
  for (MergeThread* t : hand_overs_.exit(thread)) rejoin(*t);
}

// Has done little but yield since it did so the last time.
bool VirtualTime::polls(const MergeThread& thread) {
  constexpr uint64_t kLittle = 1000;   // instructions
  return thread.has_yielded && thread.clock - thread.yielded_at < kLittle;
}

// The smallest clock of those whose work a thread that polls may wait for; its own if there are none.
uint64_t VirtualTime::clock_of_work(const MergeThread& thread) const {
  uint64_t working = std::numeric_limits<uint64_t>::max(), any = working;
  for (const MergeThread* t : known_) {
    if (t == &thread || t->stage != Stage::kRunnable) continue;
    any = std::min(any, t->clock);
    if (!polls(*t)) working = std::min(working, t->clock);
  }
  constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();
  return working != kNone ? working : any != kNone ? any : thread.clock;
}

// Runnable all the time. Who polls waits for what others do: that takes no time but theirs, and how often it has asked until now, which is the
// host's, does not let them go on. When there are no more words of it they have a turn (pass_turn). Who waits for its core has it.
void VirtualTime::yield(MergeThread& thread) {
  constexpr uint32_t kMostInARow = 4096;
  if (options_.sampler != nullptr) return;
  if (polls(thread)) {
    thread.clock = thread.yielded_at;
    ++thread.yields;
  } else {
    thread.yields = thread.turns_passed = 0;
  }
  thread.has_yielded = thread.may_pass_turn = true;
  thread.clock = std::max(thread.clock, clock_of_work(thread));
  thread.yielded_at = thread.slice_end = thread.clock;
  const bool is_awaited = schedule_.is_awaited();   // its core
  thread.turn_end = thread.clock + (is_awaited ? 0 : options_.quantum);
  if (!is_awaited && thread.yields < kMostInARow) return;
  thread.yields = 0;
  pass_turn(thread);
}

// A thread that polls and has no words. True: others have a turn before it is waited for; the longer it has polled the longer ones, for it may have
// to be waited for between any two.
bool VirtualTime::pass_turn(MergeThread& thread) {
  constexpr uint32_t kMostDoubled = 6;
  if (!thread.may_pass_turn || !polls(thread)) return false;
  thread.may_pass_turn = false;
  const uint64_t turns = (uint64_t{1} << std::min(thread.turns_passed++, kMostDoubled)) - 1;
  const uint64_t until = clock_of_work(thread) + turns * options_.quantum + 1;
  if (smallest_clock_of_others(thread) > until) return false;   // nobody has one
  thread.yielded_at = thread.clock = thread.turn_end = std::max(thread.clock, until);
  return true;
}

void VirtualTime::leave(MergeThread& thread) { set_stage(thread, Stage::kBlocked); }

// All that the process and what it executed wrote.
bool VirtualTime::has_been_read(uint32_t process) const {
  const auto& p = processes_[process];
  return p == nullptr || (p->live == 0 && !p->held);
}

// Host threads run ahead of the reader: a child whose end its parent has been told of may have words left.
bool VirtualTime::may_leave_wait(MergeThread& thread) const {
  const std::span<const uint64_t> words = thread.ring.words();
  if (words.size() < 4 || words[0] != border::event_word(border::Event::kSyscallExit, 3)) return true;
  const std::optional<uint32_t> child = tree_.child(thread.process, words[3]);
  return !child || has_been_read(*child);
}

// The last thread of a process has been read. Its parent comes back from its wait when the host has done away with the process.
void VirtualTime::wake_parent(uint32_t process) {
  const std::optional<uint32_t> parent = tree_.parent(process);
  if (!parent || options_.sampler != nullptr) return;
  MergeThread* waiting = nullptr;
  for (MergeThread* t : known_) {
    if (t->process != *parent || t->stage != Stage::kBlocked || !t->wait.is_in) continue;
    if (waiting != nullptr) return;  // which of them it is is not known
    waiting = t;
  }
  if (waiting == nullptr) return;
  waiting->wait.ended = process;
  waiting->wait.gone_since = {};
  waiting->wait.ended_tid = processes_[process]->mapped->slot(processes_[process]->origin.root_slot).ring.tid.load(std::memory_order_relaxed);
  rejoin(*waiting);
}

// The host may take its time to do away with a process, of which the engine has said its last word; its parent is told then, and not at that very
// moment.
bool VirtualTime::its_child_still_ends(MergeThread& thread) const {
  constexpr std::chrono::milliseconds kTold{5};
  WaitCall& wait = thread.wait;
  if (!wait.is_woken()) return false;
  if (wait.gone_since == Clock::time_point{}) {
    if (processes_[wait.ended] != nullptr && processes_[wait.ended]->alive) return true;
    const char state = host_state(wait.ended_tid);
    if (state != 0 && state != 'Z' && state != 'X') return true;
    wait.gone_since = Clock::now();
  }
  return Clock::now() - wait.gone_since < kTold || is_awake(thread.ring.slot().ring.tid.load(std::memory_order_relaxed));
}

}  // namespace simrun::channel
