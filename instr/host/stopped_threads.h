// The threads of a running process, seized and stopped where they are: also in a system call, which the kernel is told to make
// again. ptrace is per thread: everything here on the thread that seized.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace simrun::host {

// Threads of `pid` that have not ended.
std::vector<pid_t> living_threads(pid_t pid);

// PTRACE_SEIZE, with stops at system calls told apart; false with errno set. Beside a Reaper of all that the calling thread traces of the same process.
bool seize_thread(pid_t tid);

// While threads are traced, waits for those that have ended, and takes no stop. A thread that executes a program waits until all others are gone, of
// which those we trace must be waited for, and until then the kernel lets nobody be seized. Nor is the end of a leader told before that of the others.
class Reaper {
 public:
  Reaper() : thread_([this] { run(); }) {}
  ~Reaper();
  void add(pid_t tid);
  // PTRACE_DETACH of a thread that is stopped. One that has been killed meanwhile cannot be detached: it is waited for, for afterwards nobody would.
  void let_go(pid_t tid, int signal = 0);

 private:
  void run();

  std::mutex mutex_;   // of what follows
  std::condition_variable changed_;
  bool done_ = false;
  std::set<pid_t> held_;
  std::thread thread_;
};

// The registers with which the thread, interrupted in a system call, makes that call (again), in none: orig_rax is -1. A call that was to
// go on after the interruption goes on (restart_syscall); one that natively returns EINTR when a tracer comes is made again.
// False: it was in no system call, or the call is done; only orig_rax has changed.
bool restart_call(user_regs_struct& registers);

// A signal that the program handles is about to come to the stopped thread: it, not the stop, decides what becomes of an interrupted call.
bool is_about_to_handle(pid_t tid);

// Seizes all threads of a process, new ones too, until none is missing. The destructor lets go those that are still held, as they were.
class StoppedThreads {
 public:
  // Throws UserError: no such process, no permission, traced already, stopped by a signal, does not stop.
  explicit StoppedThreads(pid_t pid);
  ~StoppedThreads();
  StoppedThreads(const StoppedThreads&) = delete;
  StoppedThreads& operator=(const StoppedThreads&) = delete;

  const std::vector<pid_t>& all() const { return all_; }
  // Interrupted calls, of other threads than the first but for those that a signal ends, will be made again from their start, with their whole time-outs: for calls that have just begun. (The kernel would go on
  // with restart_syscall, after which nobody can say which call it is.)
  void begin_calls_again();
  // Threads in front of a system call begin it, but for those to which a signal comes first. They are let go when the calling thread ends: that does
  // not interrupt them, as PTRACE_DETACH would, which needs a stop.
  void enter_calls();
  // It is no longer held here.
  void release(pid_t tid) { held_.erase(tid); }

 private:
  StoppedThreads() = default;
  bool stop_new_ones();
  bool seize(pid_t tid);
  bool wait_until_stopped(pid_t tid);

  pid_t pid_ = 0;
  std::vector<pid_t> all_;   // the leader first, if it lives
  std::set<pid_t> held_;
  Reaper reaper_;
};

}  // namespace simrun::host
