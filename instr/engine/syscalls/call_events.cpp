#include "instr/engine/syscalls/call_events.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
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

// What this thread has given last: whether it had to wait is asked only of what it may be giving back.
thread_local std::array<uint64_t, 8> t_given;
thread_local uint32_t t_gives;

void remember_given(const HandOverCall::Objects& objects) {
  for (const uint64_t object : objects)
    if (object != 0 && std::find(t_given.begin(), t_given.end(), object) == t_given.end()) t_given[t_gives++ % t_given.size()] = object;
}

bool has_given_any(const HandOverCall::Objects& objects) {
  return std::any_of(objects.begin(), objects.end(), [](uint64_t object) { return object != 0 && std::find(t_given.begin(), t_given.end(), object) != t_given.end(); });
}

void note_all(ThreadContext* c, const HandOverCall::Objects& objects, uint64_t flags, uint64_t place) {
  const uint64_t time = now();
  for (const uint64_t object : objects)
    if (object != 0) note_hand_over(c, object | flags, time, place);
}

// The call is back with what it may have waited for. (sigsuspend always says that it was interrupted.)
bool has_taken(const ThreadContext* c, bool done) {
  const auto result = static_cast<int64_t>(c->app.gpr[kRax]);
  return done && (result >= 0 || result == -EINTR);
}

}  // namespace

void append_call_enter(ThreadContext* c, uint64_t number, bool blocks, HandOverCall& hand_over) {
  const uint64_t* g = c->app.gpr;
  const uint64_t waits = blocks ? 1 : 0;
  forget_what_is_closed(c, number);
  if (number == SYS_futex)
    append_event(c, border::Event::kSyscallEnter, {number, waits, g[kRsi], g[kRdi], g[kRdx]});
  else
    append_event(c, border::Event::kSyscallEnter, {number, waits});
  hand_over.place = place_in_stream(c);
  if (hand_over.gives[0] != 0) {
    if (hand_over.takes[0] == 0) note_all(c, hand_over.gives, 0, hand_over.place);
    remember_given(hand_over.gives);
  }
  hand_over.may_be_given_back = number == SYS_msgrcv || has_given_any(hand_over.takes);   // which type of messages it gives is known when it has one
  if (hand_over.may_be_given_back) hand_over.switches = switches();
}

void append_call_exit(ThreadContext* c, uint64_t number, bool done, const HandOverCall& hand_over) {
  const uint64_t result = done ? c->app.gpr[kRax] : kNotDone;
  if (hand_over.takes[0] != 0 && has_taken(c, done)) {
    const bool waited = hand_over.may_be_given_back && switches() != hand_over.switches;
    // What it gives on it has when it is back: behind the call, though whom it let go on may be back before this is noted.
    if (hand_over.gives[0] != 0) note_all(c, hand_over.gives, 0, hand_over.place + 1);
    note_all(c, number == SYS_msgrcv ? HandOverCall::Objects{message_taken(c)} : hand_over.takes, border::HandOver::kTook | (waited ? border::HandOver::kWaited : 0), hand_over.place);
  }
  if (done) name_what_was_made(c, number);
  if (const uint64_t child = ended_child(c, number, done); child != 0)
    append_event(c, border::Event::kSyscallExit, {number, result, child});
  else
    append_event(c, border::Event::kSyscallExit, {number, result});
}

}  // namespace simrun::engine
