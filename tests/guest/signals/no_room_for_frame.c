// A signal whose frame cannot be written, because the stack pointer leads nowhere, is a SIGSEGV for a handler with a stack of its own; which
// may put the stack pointer right and go on. Where SIGSEGV is blocked, the process ends by it.
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

static volatile long good_stack, faults, others;

static void on_fault(int signal, siginfo_t* info, void* context) {
  ucontext_t* u = context;
  CHECK(signal == SIGSEGV);
  CHECK_EQUAL(info->si_code, SI_KERNEL);
  CHECK_EQUAL(u->uc_mcontext.gregs[REG_RAX], 0);   // the call has succeeded
  ++faults;
  u->uc_mcontext.gregs[REG_RSP] = good_stack;
}

static void on_other(int signal) {
  (void)signal;
  ++others;
}

// kill(pid, SIGUSR1) with another stack pointer.
__attribute__((noinline)) static void call_with_stack(char* stack, long pid) {
  __asm__ volatile(
      "mov %%rsp, %%rbx\n\t"
      "mov %%rbx, good_stack(%%rip)\n\t"
      "mov %0, %%rsp\n\t"
      "syscall\n\t"
      "mov %%rbx, %%rsp"
      :
      : "r"(stack), "a"((long)SYS_kill), "D"(pid), "S"((long)SIGUSR1)
      : "rbx", "rcx", "r11", "memory");
}

int main(void) {
  static char other_stack[64 << 10];
  const stack_t alternate = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
  CHECK(sigaltstack(&alternate, NULL) == 0);
  struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK}, other = {.sa_handler = on_other};
  CHECK(sigaction(SIGSEGV, &fault, NULL) == 0 && sigaction(SIGUSR1, &other, NULL) == 0);
  char* nowhere = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(nowhere != MAP_FAILED);
  for (int k = 0; k < 3; ++k) call_with_stack(nowhere + (1 << 19), getpid());
  CHECK_EQUAL(faults, 3);
  CHECK_EQUAL(others, 0);

  const pid_t child = fork();
  if (child == 0) {
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGSEGV);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    call_with_stack(nowhere + (1 << 19), getpid());
    _exit(1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  return finish();
}
