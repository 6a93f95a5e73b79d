// pidfd: another process and oneself by descriptor; descriptors and memory of another process; who shares what (kcmp).
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static char text[64] = "before";
static volatile int caught;

static void handler(int number, siginfo_t* info, void* context) {
  (void)context;
  caught = number + 1000 * (info->si_code == SI_USER) + 10000 * (info->si_pid == getpid());
}

int main(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &action, NULL);
  const int self = syscall(SYS_pidfd_open, getpid(), 0);
  CHECK(self >= 0 && syscall(SYS_pidfd_send_signal, self, SIGUSR1, NULL, 0) == 0);
  CHECK_EQUAL(caught, SIGUSR1 + 11000);
  CHECK(syscall(SYS_pidfd_open, getpid(), 1 << 20) == -1 && errno == EINVAL);
  CHECK(syscall(SYS_pidfd_open, -1, 0) == -1 && errno == EINVAL);

  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    strcpy(text, "of the child");
    const int file = memfd_create("x", 0);
    CHECK(dup2(file, 123) == 123 && write(123, "hidden", 6) == 6 && write(ends[1], "r", 1) == 1);
    for (;;) pause();
  }
  char byte;
  CHECK(read(ends[0], &byte, 1) == 1);
  const int other = syscall(SYS_pidfd_open, child, 0);
  CHECK(other >= 0);
  const int stolen = syscall(SYS_pidfd_getfd, other, 123, 0);
  char found[64] = "";
  CHECK(stolen >= 0 && pread(stolen, found, sizeof found, 0) == 6 && memcmp(found, "hidden", 6) == 0);
  struct iovec here = {found, sizeof found}, there = {text, sizeof text};
  CHECK(process_vm_readv(child, &here, 1, &there, 1, 0) == sizeof text && strcmp(found, "of the child") == 0);
  strcpy(found, "written");
  CHECK(process_vm_writev(child, &here, 1, &there, 1, 0) == sizeof text);
  memset(found, 0, sizeof found);
  CHECK(process_vm_readv(child, &here, 1, &there, 1, 0) == sizeof text && strcmp(found, "written") == 0 && strcmp(text, "before") == 0);
  there.iov_base = NULL;
  CHECK(process_vm_readv(child, &here, 1, &there, 1, 0) == -1 && errno == EFAULT);
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", child);
  const int memory = open(path, O_RDWR);
  CHECK(memory >= 0 && pread(memory, found, sizeof found, (off_t)(uintptr_t)text) == sizeof found && strcmp(found, "written") == 0);
  close(memory);
  if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_VM, 0, 0) == 0) {
    CHECK(syscall(SYS_kcmp, getpid(), child, KCMP_VM, 0, 0) > 0);
    CHECK(syscall(SYS_kcmp, getpid(), child, KCMP_FILE, ends[0], ends[0]) == 0);
    CHECK(syscall(SYS_kcmp, getpid(), child, KCMP_FILE, stolen, 123) == 0);
  }
  struct pollfd entry = {.fd = other, .events = POLLIN};
  int ready = poll(&entry, 1, 0);
  while (ready == -1 && errno == EINTR) ready = poll(&entry, 1, 0);  // never restarted
  CHECK_EQUAL(ready, 0);
  CHECK(syscall(SYS_pidfd_send_signal, other, SIGKILL, NULL, 0) == 0);
  siginfo_t info = {0};
  while (waitid(P_PIDFD, other, &info, WEXITED | WNOWAIT) != 0) CHECK_EQUAL(errno, EINTR);
  CHECK(info.si_pid == child && info.si_code == CLD_KILLED && info.si_status == SIGKILL);
  CHECK(poll(&entry, 1, 0) == 1 && waitid(P_PID, child, &info, WEXITED) == 0);
  CHECK(syscall(SYS_pidfd_send_signal, other, 0, NULL, 0) == -1 && errno == ESRCH);
  return finish();
}
