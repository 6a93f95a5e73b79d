// Signals of faults that come by system calls: a crash handler that hands its signal on to itself with the siginfo it got, with codes that
// only the kernel uses; a call for which the kernel kills its caller; one that is sent while it is blocked, and stays blocked whatever
// the program does meanwhile; one that is ignored, and interrupts nothing.
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static volatile int calls;
static volatile siginfo_t last;   // volatile: no call seems to call a handler

static void handler(int signal, siginfo_t* info, void* context) {
  CHECK(signal == info->si_signo && context != NULL);
  last = *info;
  ++calls;
}

static void install(int signal, void (*what)(int, siginfo_t*, void*)) {
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = what;
  CHECK(sigaction(signal, &action, NULL) == 0);
}

static void send(int signal, int code) {
  siginfo_t info = {.si_signo = signal, .si_code = code};
  info.si_addr = (void*)0x123450;
  CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), signal, &info) == 0);
}

static void change_mask(int how, int signal) {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  CHECK(sigprocmask(how, &mask, NULL) == 0);
}

static void queued_to_self(void) {
  static const int kinds[][2] = {{SIGSEGV, SEGV_MAPERR}, {SIGSEGV, SI_KERNEL},  {SIGBUS, BUS_ADRERR}, {SIGILL, ILL_ILLOPN},
                                 {SIGFPE, FPE_INTDIV},   {SIGTRAP, TRAP_BRKPT}, {SIGSEGV, SI_QUEUE}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
    const int signal = kinds[i][0], code = kinds[i][1];
    install(signal, handler);
    calls = 0;
    send(signal, code);
    CHECK(calls == 1 && last.si_signo == signal && last.si_code == code && last.si_addr == (void*)0x123450);
    change_mask(SIG_BLOCK, signal);
    send(signal, code);
    CHECK_EQUAL(calls, 1);
    change_mask(SIG_UNBLOCK, signal);
    CHECK(calls == 2 && last.si_code == code);
    CHECK(signal == last.si_signo);
    struct sigaction ignored = {.sa_handler = SIG_IGN};
    CHECK(sigaction(signal, &ignored, NULL) == 0);
    send(signal, code);
  }
}

static sigjmp_buf escape;

static void leave(int signal, siginfo_t* info, void* context) {
  handler(signal, info, context);
  siglongjmp(escape, 1);
}

// Call 335, uretprobe (Linux 6.11), sends SIGILL to who calls it by himself; before, there was no such call.
static void killed_by_call(void) {
  install(SIGILL, leave);
  calls = 0;
  long result = 0;
  if (sigsetjmp(escape, 1) == 0) result = syscall(335);
  CHECK(calls == 1 ? last.si_signo == SIGILL && last.si_code == SI_KERNEL : result == -1);
}

static void nothing(int signal) {
  CHECK(signal == SIGUSR1);
}

// Everything that changes the mask, copies from or to a bad address, or makes a thread of control, while a SIGSEGV and a SIGBUS wait.
static void blocked_ones_wait(void) {
  install(SIGSEGV, handler);
  install(SIGBUS, handler);
  calls = 0;
  change_mask(SIG_BLOCK, SIGSEGV);
  change_mask(SIG_BLOCK, SIGBUS);
  CHECK(kill(getpid(), SIGSEGV) == 0);
  send(SIGBUS, BUS_ADRERR);
  signal(SIGUSR1, nothing);
  for (int i = 0; i < 5; ++i) raise(SIGUSR1);
  CHECK(syscall(SYS_rt_sigaction, SIGUSR1, (void*)8, NULL, 8) == -1 && errno == EFAULT);
  char* page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(syscall(SYS_rt_sigaction, SIGUSR1, NULL, page, 8) == -1 && errno == EFAULT);
  const pid_t child = fork();
  if (child == 0) _exit(calls == 0 ? 7 : 8);
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  sigset_t set;
  CHECK(sigpending(&set) == 0 && sigismember(&set, SIGSEGV) && sigismember(&set, SIGBUS));
  CHECK_EQUAL(calls, 0);
  CHECK(sigprocmask(SIG_BLOCK, NULL, &set) == 0 && sigismember(&set, SIGSEGV) && !sigismember(&set, SIGUSR2));
  change_mask(SIG_UNBLOCK, SIGSEGV);
  CHECK(calls == 1 && last.si_signo == SIGSEGV && last.si_code == SI_USER);
  change_mask(SIG_UNBLOCK, SIGBUS);
  CHECK(calls == 2 && last.si_signo == SIGBUS && last.si_code == BUS_ADRERR);
  CHECK(sigprocmask(SIG_BLOCK, NULL, &set) == 0 && !sigismember(&set, SIGSEGV) && !sigismember(&set, SIGBUS));
}

// The child sends when the parent sleeps in its read: then the read must go on.
static void ignored_interrupts_nothing(void) {
  signal(SIGSEGV, SIG_IGN);
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/syscall", getppid());
    for (int i = 0; i < 1000; ++i) {   // 0: it sleeps in read; a system that does not say so: no matter
      FILE* file = fopen(path, "r");
      if (file == NULL) break;
      const int in_read = fgets(text, sizeof text, file) != NULL && text[0] == '0' && text[1] == ' ';
      fclose(file);
      if (in_read) break;
    }
    for (int i = 0; i < 5; ++i) kill(getppid(), SIGSEGV);
    _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
  }
  char byte = 0;
  CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x');
  int status;
  while (waitpid(child, &status, 0) != child) CHECK(errno == EINTR);
  CHECK(status == 0);
}

static void again(int signal, siginfo_t* info, void* context) {
  (void)context;
  struct sigaction action = {.sa_handler = SIG_DFL};
  sigaction(signal, &action, NULL);
  syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), signal, info);
}

static void handed_on(void) {
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    install(SIGSEGV, again);
    *(volatile int*)(uintptr_t)8 = 1;
    _exit(1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

int main(void) {
  queued_to_self();
  killed_by_call();
  blocked_ones_wait();
  ignored_interrupts_nothing();
  handed_on();
  return finish();
}
