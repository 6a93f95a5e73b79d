// A signal whose frame cannot be written, because the stack pointer leads nowhere, is a SIGSEGV for a handler with a stack of its own; which
// may put the stack pointer right and go on. Where SIGSEGV is blocked, the process ends by it; and where the alternate stack is too small for
// the frame, which the kernel does not write below it.
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

static void wait_for_fault_of(pid_t child) {
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static char* small_stack;
enum { kSmallStack = 3 * 4096 };   // shared with the parent

// At last from a place where no frame fits, however large frames are here: what fits and leaves no room for its handler would not be the last,
// for below the stack the next signal begins it anew.
static void raise_again(int signal) {
  enum { kRoomForOne = 8192, kRoomForNone = 512 };
  char here;
  if (&here > small_stack + kRoomForOne)
    raise(signal);
  else if (&here > small_stack)
    call_with_stack(small_stack + kRoomForNone, getpid());
}

// Frames of some kilobytes into `size` bytes: none fits, or some do.
static void overflow_alternate(size_t size) {
  small_stack = mmap(NULL, 2 * kSmallStack, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(small_stack != MAP_FAILED);
  small_stack += kSmallStack;
  const pid_t child = fork();
  if (child == 0) {
    const stack_t alternate = {.ss_sp = small_stack, .ss_size = size};
    if (sigaltstack(&alternate, NULL) != 0) raise(SIGSEGV);   // some kernels refuse what has no room for a frame
    struct sigaction again = {.sa_handler = raise_again, .sa_flags = SA_ONSTACK | SA_NODEFER};
    CHECK(sigaction(SIGUSR1, &again, NULL) == 0 && sigaction(SIGSEGV, &again, NULL) == 0);
    raise(SIGUSR1);
    _exit(1);
  }
  wait_for_fault_of(child);
  for (int k = -kSmallStack; k < 0; ++k) CHECK_EQUAL(small_stack[k], 0);
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
  wait_for_fault_of(child);
  overflow_alternate(2048);
  overflow_alternate(kSmallStack);
  return finish();
}
