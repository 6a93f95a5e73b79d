// build: -pthread
// Filters judge a fork, a vfork and a clone as the program makes them: by number, flags and stack.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

#define ARGUMENT(k) (offsetof(struct seccomp_data, args) + 8 * (k))

// EPERM for this call unless its argument (by its lower half) has this value.
static void allow_only(int number, int argument, unsigned value) {
  struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 2),
                                 BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(argument)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)};
  struct sock_fprog program = {6, filter};
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static int status_of(long pid) {
  int status = -1;
  if (pid == 0) _exit(7);
  if (pid < 0) return -errno;
  CHECK(waitpid((pid_t)pid, &status, 0) == pid);
  return WEXITSTATUS(status);
}

static void* thread(void* argument) { return argument; }

// In a process of its own, whose filters end with it.
static void in_child(void (*acts)(void)) {
  const pid_t child = fork();
  if (child == 0) {
    acts();
    _exit(9);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

static void forks_but_no_clone(void) {
  allow_only(SYS_clone, 0, ~0u);
  CHECK_EQUAL(status_of(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)), -EPERM);
  CHECK_EQUAL(status_of(syscall(SYS_fork)), 7);
  const pid_t child = vfork();
  if (child == 0) _exit(6);
  int status;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 6);
}

static void one_kind_of_clone(void) {
  allow_only(SYS_clone, 0, CLONE_VFORK | SIGCHLD);
  allow_only(SYS_clone, 1, 0);
  CHECK_EQUAL(status_of(syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0)), 7);
  CHECK_EQUAL(status_of(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)), -EPERM);
}

static void threads_but_no_forks(void) {
  allow_only(SYS_fork, 0, ~0u);
  allow_only(SYS_vfork, 0, ~0u);
  CHECK_EQUAL(status_of(syscall(SYS_fork)), -EPERM);
  pthread_t other;
  CHECK(pthread_create(&other, NULL, thread, NULL) == 0 && pthread_join(other, NULL) == 0);
}

int main(void) {
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  in_child(forks_but_no_clone);
  in_child(one_kind_of_clone);
  in_child(threads_but_no_forks);
  return finish();
}
