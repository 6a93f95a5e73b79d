// A filter refuses exit_group, as a call of 64 and of 32 bits: the program goes on behind it.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static void refuse(uint32_t arch, uint32_t number) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(void) {
  const pid_t child = fork();
  if (child == 0) {
    refuse(AUDIT_ARCH_X86_64, SYS_exit_group);
    if (syscall(SYS_exit_group, 1) != -1 || errno != EPERM) abort();
    refuse(AUDIT_ARCH_I386, 252);
    long result = -EPERM;
    if (has_fsgsbase())   // elsewhere there may be no 32-bit calls
      __asm__ volatile("int $0x80" : "=a"(result) : "a"(252), "b"(1) : "r8", "r9", "r10", "r11", "memory");
    if (result != -EPERM) abort();
    for (;;) syscall(SYS_exit, 42);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
  finish();
}
