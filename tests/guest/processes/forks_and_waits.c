// CLONE_VFORK without CLONE_VM: a fork whose parent waits until the child executes a program or ends, by whatever means. And a fork with
// CLONE_SETTLS, whose child has thread-local storage of its own.
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static volatile int* shared;
static volatile int own;

static pid_t fork_and_wait(int three) {
  struct clone_args arguments = {.flags = CLONE_VFORK, .exit_signal = SIGCHLD};
  return (pid_t)(three ? syscall(SYS_clone3, &arguments, sizeof arguments) : syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0));
}

// Longer than what fits into a ring of the child's.
static void work(void) {
  volatile long sum = 0;
  for (long k = 0; k < 300000; ++k) sum += k;
}

static int wait_for(pid_t pid) {
  int status = -1;
  CHECK(waitpid(pid, &status, 0) == pid);
  return status;
}

// The child has another FS base at once, and must not touch memory around it.
static void fork_with_storage(unsigned long flags) {
  enum { kBytes = 1 << 16 };
  static char storage[kBytes] __attribute__((aligned(4096)));
  memset(storage, 0x5a, kBytes);
  const long pid = syscall(SYS_clone, CLONE_SETTLS | SIGCHLD | flags, 0, 0, 0, storage + kBytes / 2);
  if (pid == 0) {
    // No call of the C library here.
    unsigned long base, changed = 0;
    __asm__ volatile("rdfsbase %0" : "=r"(base));
    for (int k = 0; k < kBytes; ++k) changed += storage[k] != 0x5a;
    const long status = base == (unsigned long)(storage + kBytes / 2) && changed == 0 ? 7 : 8;
    __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(status) : "rcx", "r11", "memory");
  }
  CHECK(pid > 0);
  CHECK_EQUAL(WEXITSTATUS(wait_for((pid_t)pid)), 7);
  // Not an address: nothing is made.
  CHECK(syscall(SYS_clone, CLONE_SETTLS | SIGCHLD | flags, 0, 0, 0, 1ul << 63) == -1);
}

int main(int argc, char** argv) {
  if (argc > 1) return 9;
  if ((getauxval(AT_HWCAP2) & 2) != 0) {   // FSGSBASE
    fork_with_storage(0);
    fork_with_storage(CLONE_VFORK);
  }
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(shared != MAP_FAILED);
  for (int three = 0; three < 2; ++three) {
    *shared = 0;
    pid_t pid = fork_and_wait(three);
    if (pid == 0) {
      own = 1;
      work();
      *shared = 1;
      _exit(7);
    }
    CHECK(pid > 0 && *shared == 1 && own == 0);
    CHECK_EQUAL(WEXITSTATUS(wait_for(pid)), 7);

    pid = fork_and_wait(three);
    if (pid == 0) {
      work();
      *shared = 2;
      char* arguments[] = {argv[0], "again", NULL};
      execv(argv[0], arguments);
      _exit(1);
    }
    CHECK(pid > 0 && *shared == 2);
    CHECK_EQUAL(WEXITSTATUS(wait_for(pid)), 9);

    pid = fork_and_wait(three);
    if (pid == 0) {
      work();
      *shared = 3;
      raise(SIGKILL);
    }
    CHECK(pid > 0 && *shared == 3);
    CHECK_EQUAL(WTERMSIG(wait_for(pid)), SIGKILL);
  }
  return finish();
}
