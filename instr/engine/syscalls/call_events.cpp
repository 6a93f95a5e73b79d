#include "instr/engine/syscalls/call_events.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <cerrno>

#include "instr/border/stream.h"
#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/syscalls/syscalls.h"

namespace simrun::engine {
namespace {

// The child that a wait4 which found one says has ended; 0: it has not.
uint64_t child_of_wait4(const uint64_t* g) {
  int status = 0;
  if (g[kRsi] == 0) return (g[kRdx] & (WUNTRACED | WCONTINUED)) == 0 ? g[kRax] : 0;
  return read_app(&status, g[kRsi], sizeof status) && (WIFEXITED(status) || WIFSIGNALED(status)) ? g[kRax] : 0;
}

uint64_t child_of(const siginfo_t& info) {
  const bool has_ended = info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
  return info.si_signo == SIGCHLD && has_ended ? static_cast<uint64_t>(info.si_pid) : 0;
}

uint64_t child_of_waitid(const uint64_t* g) {
  siginfo_t info{};
  return g[kRax] == 0 && g[kRdx] != 0 && read_app(&info, g[kRdx], sizeof info) ? child_of(info) : 0;
}

// The child whose end the call was told of, or the signal that interrupted it.
uint64_t ended_child(const ThreadContext* c, uint64_t number, bool done) {
  if (done && number == SYS_wait4 && static_cast<int64_t>(c->app.gpr[kRax]) > 0) return child_of_wait4(c->app.gpr);
  if (done && number == SYS_waitid) return child_of_waitid(c->app.gpr);
  const bool is_interrupted = !done || c->app.gpr[kRax] == static_cast<uint64_t>(-EINTR);
  return is_interrupted && c->pending.number.load(std::memory_order_relaxed) == SIGCHLD ? child_of(c->pending.info) : 0;
}

uint64_t now() {
  timespec t{};
  raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, word(&t));
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// Times that this thread has given up its processor.
uint64_t switches() {
  rusage usage{};
  raw_syscall(SYS_getrusage, RUSAGE_THREAD, word(&usage));
  return static_cast<uint64_t>(usage.ru_nvcsw);
}

void note_all(ThreadContext* c, const HandOverCall::Parts& parts, uint64_t flags, uint64_t began, uint64_t time, uint64_t place) {
  for (const auto& [object, units] : parts)
    if (object != 0) note_hand_over(c, object | flags, units, began, time, place);
}

// Of what was noted beforehand the call has given less.
void note_what_was_not_given(ThreadContext* c, const HandOverCall& hand_over, uint64_t result) {
  const uint64_t done = static_cast<int64_t>(result) < 0 ? 0 : hand_over.gives_result ? result : ~uint64_t{0};
  for (const auto& [object, units] : hand_over.gives)
    if (object != 0 && units != border::HandOver::kUncounted && done < units) note_hand_over(c, object | border::HandOver::kGaveLess, units - done, 0, hand_over.time, hand_over.place);
}

// As ThreadSlot::waits_on has it. Of several there is none that lets the thread go on.
uint64_t waiting_on(const HandOverCall& hand_over, bool blocks) {
  if (!blocks) return 0;
  if (hand_over.takes[0].object == 0) return hand_over.gives[0].object != 0 ? border::ThreadSlot::kGives : 0;
  return hand_over.takes[1].object == 0 ? hand_over.takes[0].object : 0;
}

// The call is back with what it may have waited for.
bool has_taken(const ThreadContext* c, uint64_t number, bool done) {
  const auto result = static_cast<int64_t>(c->app.gpr[kRax]);
  const bool waits_for_signal = number == SYS_rt_sigsuspend || number == SYS_pause || number == SYS_rt_sigtimedwait;
  return done && (result >= 0 || (result == -EINTR && waits_for_signal));
}

}  // namespace

void append_call_enter(ThreadContext* c, uint64_t number, bool blocks, HandOverCall& hand_over) {
  const uint64_t* g = c->app.gpr;
  const uint64_t waits = blocks ? 1 : 0;
  const bool gives = hand_over.gives[0].object != 0, takes = hand_over.takes[0].object != 0;
  c->waits_on.store(waiting_on(hand_over, blocks), std::memory_order_relaxed);   // before the event
  forget_what_is_closed(c, number);
  if (number == SYS_futex)
    append_event(c, border::Event::kSyscallEnter, {number, waits, g[kRsi], g[kRdi], g[kRdx]});
  else
    append_event(c, border::Event::kSyscallEnter, {number, waits});
  hand_over.place = place_in_stream(c);
  if (!gives && !takes) return;
  hand_over.time = now();
  if (takes) hand_over.switches = switches();
  else note_all(c, hand_over.gives, hand_over.sets ? border::HandOver::kHas : 0, 0, hand_over.time, hand_over.place);
}

void append_call_exit(ThreadContext* c, uint64_t number, bool done, const HandOverCall& hand_over) {
  const uint64_t result = done ? c->app.gpr[kRax] : kNotDone;
  const bool gives = hand_over.gives[0].object != 0, takes = hand_over.takes[0].object != 0;
  c->waits_on.store(0, std::memory_order_relaxed);
  if (gives && !takes) note_what_was_not_given(c, hand_over, result);
  if (takes && has_taken(c, number, done)) {
    const bool waited = switches() != hand_over.switches;
    const uint64_t time = now();
    // What it gives on it has when it is back: behind the call, though whom it let go on may be back before this is noted.
    if (gives) note_all(c, parts_done(c, number, hand_over.gives), 0, 0, time, hand_over.place + 1);
    note_all(c, parts_done(c, number, hand_over.takes), border::HandOver::kTook | (waited ? border::HandOver::kWaited : 0), hand_over.time, time, hand_over.place);
  }
  if (done) name_what_was_made(c, number);
  if (const uint64_t child = ended_child(c, number, done); child != 0)
    append_event(c, border::Event::kSyscallExit, {number, result, child});
  else
    append_event(c, border::Event::kSyscallExit, {number, result});
}

}  // namespace simrun::engine
