// build: -pthread
// Threads that wait in system calls are attached to: the tracer sees them in those calls, and a signal that comes then ends them.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/guest/guest.h"

enum { kRounds = 3, kInterrupted = 7, kNone = -1 };

static const int kCalls[] = {SYS_pause, SYS_rt_sigsuspend, SYS_select, SYS_epoll_wait, SYS_clock_nanosleep, SYS_read, SYS_futex};
enum { kNumberOfCalls = sizeof kCalls / sizeof kCalls[0] };

struct Shared {
  volatile pid_t other;
};
static struct Shared* shared;

static int word;   // of the futex

static void handle(int number) { (void)number; }

// Each would wait for ever, or for an hour.
static long wait_in(int call) {
  const struct timespec hour = {3600, 0};
  struct timeval time = {3600, 0};
  struct epoll_event event;
  sigset_t none;
  int ends[2];
  char c;
  CHECK(pipe(ends) == 0 && sigemptyset(&none) == 0);
  switch (call) {
    case SYS_pause: return syscall(SYS_pause);
    case SYS_rt_sigsuspend: return syscall(SYS_rt_sigsuspend, &none, 8);
    case SYS_select: return syscall(SYS_select, 0, NULL, NULL, NULL, &time);
    case SYS_epoll_wait: return syscall(SYS_epoll_wait, epoll_create1(0), &event, 1, 3600 * 1000);
    case SYS_clock_nanosleep: return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &hour, NULL);
    case SYS_read: return syscall(SYS_read, ends[0], &c, 1);
    default: return syscall(SYS_futex, &word, 0 /* FUTEX_WAIT */, 0, &hour, NULL, 0);
  }
}

static void* wait_in_other(void* call) {
  shared->other = (pid_t)syscall(SYS_gettid);
  CHECK(wait_in(*(const int*)call) == -1 && errno == EINTR);
  return NULL;
}

static void be_traced(int call, int other_call) {
  pthread_t other;
  const struct sigaction action = {.sa_handler = handle};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  if (other_call != kNone) CHECK(pthread_create(&other, NULL, wait_in_other, &other_call) == 0);
  CHECK(wait_in(call) == -1 && errno == EINTR);
  if (other_call != kNone) CHECK(pthread_join(other, NULL) == 0);
  _exit(kInterrupted);
}

static int is_in(pid_t pid, pid_t tid, int call) {
  char path[64], text[64] = "";
  unsigned long number, argument;
  snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", pid, tid);
  const int file = open(path, O_RDONLY);
  CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0);
  close(file);
  if (sscanf(text, "%lu %lx", &number, &argument) != 2 || number != (unsigned long)call) return 0;   // "running"
  return call != SYS_futex || argument == (unsigned long)&word;
}

// Whether it is seen in its call. Stopped, it is sent the signal.
static int attach(pid_t pid, pid_t tid, int call) {
  int status;
  struct user_regs_struct r;
  CHECK(ptrace(PTRACE_ATTACH, tid, 0, 0) == 0);
  CHECK(waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
  CHECK(ptrace(PTRACE_GETREGS, tid, 0, &r) == 0);
  CHECK(syscall(SYS_tgkill, pid, tid, SIGUSR1) == 0);
  return r.orig_rax == (unsigned long)call;
}

static void trace(int call, int other_call, int* seen, int* interrupted) {
  int status;
  shared->other = 0;
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) be_traced(call, other_call);
  if (other_call != kNone)
    while (shared->other == 0) sched_yield();
  const pid_t other = shared->other;
  while (!is_in(pid, pid, call) || (other != 0 && !is_in(pid, other, other_call))) sched_yield();
  int in_calls = attach(pid, pid, call);
  if (other != 0) in_calls += attach(pid, other, other_call);
  *seen += in_calls;
  if (other != 0) CHECK(ptrace(PTRACE_DETACH, other, 0, 0) == 0);
  CHECK(ptrace(PTRACE_DETACH, pid, 0, 0) == 0);
  if (in_calls < (other != 0 ? 2 : 1)) kill(pid, SIGKILL);   // it would wait for ever
  CHECK(waitpid(pid, &status, 0) == pid);
  *interrupted += WIFEXITED(status) && WEXITSTATUS(status) == kInterrupted;
}

int main(void) {
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(shared != MAP_FAILED);
  alarm(40);
  int seen = 0, interrupted = 0;
  for (int round = 0; round < kRounds; ++round)
    for (int k = 0; k < kNumberOfCalls; ++k) trace(kCalls[k], kNone, &seen, &interrupted);
  printf("alone: %d seen in their calls, %d interrupted\n", seen, interrupted);
  seen = interrupted = 0;
  for (int k = 0; k < kNumberOfCalls; ++k) trace(kCalls[k], kCalls[(k + 1) % kNumberOfCalls], &seen, &interrupted);
  printf("with another: %d seen in their calls, %d interrupted\n", seen, interrupted);
  return finish();
}
