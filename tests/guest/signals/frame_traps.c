// build: -pthread
// What frames show of traps: that of the last fault, also in the frames of other signals behind it, and none that is not the program's.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <pthread.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

static sigjmp_buf escape;

static void tell(int signal, siginfo_t* info, void* context) {
  const greg_t* const g = ((ucontext_t*)context)->uc_mcontext.gregs;
  (void)info;
  printf("signal %d: trap %lld, error %llx, cr2 %llx, old mask %d\n", signal, (long long)g[REG_TRAPNO], (long long)g[REG_ERR],
         (long long)g[REG_CR2], (int)(g[REG_OLDMASK] == *(long*)&((ucontext_t*)context)->uc_sigmask));
}

static void tell_and_escape(int signal, siginfo_t* info, void* context) {
  tell(signal, info, context);
  siglongjmp(escape, 1);
}

static void* raise_in_thread(void* nothing) {
  pthread_kill(pthread_self(), SIGUSR1);
  return nothing;
}

// An ignored signal is not reset by SA_RESETHAND, whichever it is.
static void ignored_once_and_for_all(void) {
  const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGUSR2};
  for (unsigned k = 0; k < sizeof signals / sizeof *signals; ++k) {
    struct sigaction action = {.sa_handler = SIG_IGN, .sa_flags = SA_RESETHAND}, before, now;
    CHECK(sigaction(signals[k], &action, &before) == 0);
    for (int n = 0; n < 3; ++n) raise(signals[k]);
    CHECK(sigaction(signals[k], &before, &now) == 0 && now.sa_handler == SIG_IGN);
  }
}

int main(void) {
  struct sigaction telling = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO}, escaping = {.sa_sigaction = tell_and_escape, .sa_flags = SA_SIGINFO};
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGHUP);
  CHECK(sigprocmask(SIG_BLOCK, &blocked, NULL) == 0);
  CHECK(sigaction(SIGUSR1, &telling, NULL) == 0 && sigaction(SIGTRAP, &telling, NULL) == 0);
  CHECK(sigaction(SIGSEGV, &escaping, NULL) == 0 && sigaction(SIGILL, &escaping, NULL) == 0);
  raise(SIGUSR1);
  if (sigsetjmp(escape, 1) == 0) *(volatile char*)0x1238 = 1;
  raise(SIGUSR1);
  asm volatile("int3");
  raise(SIGUSR1);
  asm volatile("pushfq; orl $0x100, (%%rsp); popfq; nop; pushfq; andl $~0x100, (%%rsp); popfq; nop" ::: "memory", "cc");
  raise(SIGUSR1);
  if (sigsetjmp(escape, 1) == 0) asm volatile("hlt");
  raise(SIGUSR1);
  if (sigsetjmp(escape, 1) == 0) asm volatile("ud2");
  raise(SIGUSR1);
  char* const page = mmap((void*)0x12345000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  CHECK(page == (char*)0x12345000);
  if (sigsetjmp(escape, 1) == 0) ((void (*)(void))page)();
  raise(SIGUSR1);
  CHECK(syscall(SYS_rt_sigaction, SIGUSR2, (void*)0x777000, NULL, 8) == -1);
  raise(SIGUSR1);
  if (sigsetjmp(escape, 1) == 0) asm volatile("mov (%0), %0" : : "r"(0x8000000000000000));
  raise(SIGUSR1);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGUSR1);
    fflush(stdout);
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, raise_in_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
  ignored_once_and_for_all();
  return finish();
}
