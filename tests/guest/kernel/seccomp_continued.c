// build: -pthread
// A supervisor that is asked about calls and has them made as they are: forks, threads, mappings, signal handlers go on as ever.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

enum { kCalls = 9 };
static const int kAsked[kCalls] = {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_rt_sigaction, SYS_rt_sigreturn};
static volatile int handled;
static int ready;

static int set_filter(void) {
  struct sock_filter filter[kCalls + 3];
  filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int k = 0; k < kCalls; ++k)
    filter[k + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)kAsked[k], (unsigned char)(kCalls - k), 0);
  filter[kCalls + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  filter[kCalls + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
  struct sock_fprog program = {kCalls + 3, filter};
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void supervise(int listener) {
  for (;;) {
    struct seccomp_notif request;
    memset(&request, 0, sizeof request);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) continue;
    struct seccomp_notif_resp response = {.id = request.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
  }
}

static void handler(int number) { handled = number; }
static void* thread(void* argument) { return argument; }

static int wait_for(pid_t pid) {
  int status = -1;
  while (waitpid(pid, &status, 0) < 0) CHECK(errno == EINTR);
  return status;
}

static void run_code(void) {
  static const unsigned char kCode[] = {0xb8, 42, 0, 0, 0, 0xc3};   // mov eax, 42; ret
  char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  memcpy(page, kCode, sizeof kCode);
  CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
  CHECK_EQUAL(((int (*)(void))page)(), 42);
  CHECK(munmap(page, 4096) == 0);
}

int main(void) {
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  volatile int* listener = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(listener != MAP_FAILED);
  *listener = -1;
  // With this process's descriptors.
  const pid_t supervisor = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
  if (supervisor == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    while (*listener == -1) sched_yield();
    supervise(*listener);
  }
  const int made = set_filter();
  if (made < 0) {
    kill(supervisor, SIGKILL);
    puts("SKIPPED: no seccomp listeners");
    return 0;
  }
  *listener = made;
  const pid_t child = fork();
  if (child == 0) _exit(7);
  CHECK_EQUAL(WEXITSTATUS(wait_for(child)), 7);
  pthread_t other;
  void* result;
  CHECK(pthread_create(&other, NULL, thread, &ready) == 0 && pthread_join(other, &result) == 0 && result == &ready);
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  CHECK_EQUAL(handled, SIGUSR1);
  run_code();
  kill(supervisor, SIGKILL);
  CHECK(WIFSIGNALED(wait_for(supervisor)));
  return finish();
}
