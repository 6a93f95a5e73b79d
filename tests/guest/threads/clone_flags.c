// What clone and clone3 share or not, flag by flag, and how children made by them are waited for.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static char stack[1 << 16] __attribute__((aligned(16)));
static volatile int value, seen;
static int number;
static pid_t parent_tid, child_tid, parent;

static void handler(int signal) { seen = signal; }

static int acts(void* what) {
  struct sigaction action = {.sa_handler = handler};
  value = 7;
  switch ((long)what) {
    case 0:
      return dup2(0, number) == number ? 5 : 6;
    case 1:
      return chdir("/proc") == 0 ? 5 : 6;
    case 2:
      return sigaction(SIGUSR2, &action, NULL) == 0 ? 5 : 6;
    case 3:
      return child_tid == syscall(SYS_gettid) ? 5 : 6;
    case 4:
      for (;;) syscall(SYS_exit_group, 5);
    case 5:
      execl("/bin/sh", "sh", "-c", "exit 5", NULL);
      return 6;
    case 6: {
      int status;
      const pid_t child = fork();
      if (child == 0) _exit(4);
      return waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4 && syscall(SYS_getppid) == parent ? 5 : 6;
    }
    case 7:
      for (;;) pause();
    default:
      return 5;
  }
}

static void run(int flags, long what, int expected_value) {
  value = 1;
  parent_tid = child_tid = 0;
  const pid_t child = clone(acts, stack + sizeof stack, flags, (void*)what, &parent_tid, NULL, &child_tid);
  CHECK(child > 0);
  int status = 0;
  CHECK(waitpid(child, &status, __WALL) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
  CHECK_EQUAL(value, expected_value);
  if (flags & CLONE_PARENT_SETTID) CHECK_EQUAL(parent_tid, child);
}

static int opened(void) { return fcntl(number, F_GETFD) >= 0; }

static int moved(void) {
  char where[PATH_MAX];
  const int there = getcwd(where, sizeof where) != NULL && strcmp(where, "/proc") == 0;
  CHECK(chdir("/") == 0);
  return there;
}

static int handled(void) {
  struct sigaction action;
  sigaction(SIGUSR2, NULL, &action);
  signal(SIGUSR2, SIG_DFL);
  return action.sa_handler == handler;
}

static void sharing(void) {
  number = 700;
  run(SIGCHLD, 0, 1);
  CHECK(!opened());
  run(SIGCHLD | CLONE_FILES, 0, 1);
  CHECK(opened() && close(number) == 0);
  run(SIGCHLD | CLONE_FILES | CLONE_VM, 0, 7);
  CHECK(opened() && close(number) == 0);
  CHECK(chdir("/") == 0);
  run(SIGCHLD, 1, 1);
  CHECK(!moved());
  run(SIGCHLD | CLONE_FS, 1, 1);
  CHECK(moved());
  run(SIGCHLD | CLONE_FS | CLONE_VM, 1, 7);
  CHECK(moved());
  run(SIGCHLD | CLONE_VM, 2, 7);
  CHECK(!handled());
  run(SIGCHLD | CLONE_VM | CLONE_SIGHAND, 2, 7);
  CHECK(handled());
  run(SIGCHLD | CLONE_VM | CLONE_VFORK, 2, 7);
  CHECK(!handled());
  run(SIGCHLD | CLONE_VM | CLONE_VFORK | CLONE_SIGHAND, 2, 7);
  CHECK(handled());
  run(SIGCHLD | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID, 3, 1);
  run(SIGCHLD | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | CLONE_VM, 3, 7);
  CHECK_EQUAL(child_tid, 0);
  run(CLONE_SYSVSEM | CLONE_IO | SIGCHLD, 9, 1);
}

// Processes that share memory and end otherwise than by returning.
static void ends(void) {
  const int kinds[] = {SIGCHLD | CLONE_VM, SIGCHLD | CLONE_VM | CLONE_SIGHAND, SIGCHLD | CLONE_VM | CLONE_VFORK};
  for (int kind = 0; kind < 3; ++kind)
    for (int round = 0; round < 3; ++round) {
      run(kinds[kind], 4, 7);
      run(kinds[kind], 5, 7);
      run(kinds[kind], 6, 7);
      if (kind == 2) continue;
      value = 1;
      const pid_t child = clone(acts, stack + sizeof stack, kinds[kind], (void*)7);
      while (value == 1) sched_yield();
      CHECK(child > 0 && kill(child, SIGKILL) == 0);
      int status;
      CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
}

static void exit_signals(void) {
  int status;
  signal(SIGUSR1, handler);
  seen = 0;
  run(SIGUSR1, 9, 1);
  CHECK_EQUAL(seen, SIGUSR1);
  pid_t child = clone(acts, stack + sizeof stack, 0, (void*)9);
  CHECK(child > 0);
  CHECK(waitpid(child, &status, 0) == -1 && errno == ECHILD);
  CHECK(waitpid(child, &status, __WCLONE) == child && WEXITSTATUS(status) == 5);
  // CLONE_PARENT: a sibling of who makes it, to be waited for here.
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t middle = fork();
  if (middle == 0) {
    const pid_t sibling = clone(acts, stack + sizeof stack, CLONE_PARENT | SIGCHLD, (void*)9);
    _exit(write(ends[1], &sibling, sizeof sibling) == sizeof sibling ? 0 : 1);
  }
  pid_t sibling;
  CHECK(read(ends[0], &sibling, sizeof sibling) == sizeof sibling && sibling > 0);
  CHECK(waitpid(middle, &status, 0) == middle && status == 0);
  CHECK(waitpid(sibling, &status, __WALL) == sibling && WEXITSTATUS(status) == 5);
  close(ends[0]);
  close(ends[1]);
}

static pid_t make(uint64_t flags, int* descriptor) {
  struct clone_args arguments = {.flags = flags, .exit_signal = SIGCHLD, .pidfd = (uintptr_t)descriptor};
  return syscall(SYS_clone3, &arguments, sizeof arguments);
}

static void with_clone3(void) {
  int descriptor = -1, status;
  pid_t child = make(CLONE_PIDFD, &descriptor);
  if (child == 0) {
    for (;;) pause();
  }
  CHECK(child > 0 && descriptor >= 0 && (fcntl(descriptor, F_GETFD) & FD_CLOEXEC));
  struct pollfd poll_entry = {.fd = descriptor, .events = POLLIN};
  int ready = poll(&poll_entry, 1, 0);
  while (ready == -1 && errno == EINTR) ready = poll(&poll_entry, 1, 0);  // never restarted
  CHECK_EQUAL(ready, 0);
  CHECK(syscall(SYS_pidfd_send_signal, descriptor, SIGTERM, NULL, 0) == 0);
  while (poll(&poll_entry, 1, -1) != 1) continue;
  siginfo_t info = {0};
  CHECK(waitid(P_PIDFD, descriptor, &info, WEXITED) == 0 && info.si_code == CLD_KILLED && info.si_status == SIGTERM);
  close(descriptor);

  signal(SIGUSR1, handler);
  signal(SIGUSR2, SIG_IGN);
  child = make(CLONE_CLEAR_SIGHAND, NULL);
  if (child == 0) {
    struct sigaction action;
    int wrong = sigaction(SIGUSR1, NULL, &action) != 0 || action.sa_handler != SIG_DFL;
    wrong |= sigaction(SIGUSR2, NULL, &action) != 0 || action.sa_handler != SIG_IGN;
    _exit(wrong);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  child = make(CLONE_CLEAR_SIGHAND, NULL);
  if (child == 0) {
    raise(SIGUSR1);
    _exit(0);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
  signal(SIGUSR2, SIG_DFL);
}

static void errors(void) {
  CHECK(syscall(SYS_clone, CLONE_THREAD, 0, NULL, NULL, 0) == -1 && errno == EINVAL);
  CHECK(syscall(SYS_clone, CLONE_THREAD | CLONE_SIGHAND, 0, NULL, NULL, 0) == -1 && errno == EINVAL);
  CHECK(syscall(SYS_clone, CLONE_SIGHAND | SIGCHLD, 0, NULL, NULL, 0) == -1 && errno == EINVAL);
  CHECK(syscall(SYS_clone, CLONE_FS | CLONE_NEWNS | SIGCHLD, 0, NULL, NULL, 0) == -1 && errno == EINVAL);
  CHECK(make(CLONE_CLEAR_SIGHAND | CLONE_SIGHAND | CLONE_VM, NULL) == -1 && errno == EINVAL);
  CHECK(make(CLONE_DETACHED, NULL) == -1 && errno == EINVAL);
  CHECK(make((uint64_t)1 << 60, NULL) == -1 && errno == EINVAL);
  struct clone_args arguments = {.exit_signal = SIGCHLD, .stack_size = 4096};
  CHECK(syscall(SYS_clone3, &arguments, sizeof arguments) == -1 && errno == EINVAL);
  arguments = (struct clone_args){.exit_signal = 4000};
  CHECK(syscall(SYS_clone3, &arguments, sizeof arguments) == -1 && errno == EINVAL);
  CHECK(syscall(SYS_clone3, (void*)8, sizeof arguments) == -1 && errno == EFAULT);
}

// clone takes no notice of the upper half, as where CLONE_IO was an int: nothing is cleared by what is CLONE_CLEAR_SIGHAND for clone3.
static void upper_half(void) {
  struct sigaction action = {.sa_handler = handler}, old;
  int status;
  CHECK(sigaction(SIGUSR2, &action, &old) == 0);
  const pid_t child = syscall(SYS_clone, (long)(int)(CLONE_IO | SIGCHLD), 0, 0, 0, 0);
  if (child == 0) {
    raise(SIGUSR2);
    _exit(seen == SIGUSR2 ? 3 : 4);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
  CHECK(sigaction(SIGUSR2, &old, NULL) == 0);
}

int main(void) {
  parent = getpid();
  sharing();
  ends();
  exit_signals();
  with_clone3();
  errors();
  upper_half();
  return finish();
}
