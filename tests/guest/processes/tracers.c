// Programs that trace others: children that ask for it (after fork, after vfork), running ones that are attached to or seized. What the
// tracer sees is the program's own: addresses, registers, system calls.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

extern char etext, __executable_start;
static volatile long turns, stop;

static const char* where(unsigned long pc) {
  return pc >= (unsigned long)&__executable_start && pc < (unsigned long)&etext ? "program" : "elsewhere";
}

static int wait_for(pid_t pid) {
  int status = -1;
  while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR) continue;
  return status;
}

static void say(const char* what, int status) {
  if (WIFSTOPPED(status)) printf("%s: stopped by %d, event %d\n", what, WSTOPSIG(status), status >> 16);
  else if (WIFEXITED(status)) printf("%s: exit %d\n", what, WEXITSTATUS(status));
  else printf("%s: status %x\n", what, status);
  fflush(stdout);
}

// Its own system call instruction, so that the tracer knows where it is.
extern char after_call[];
__attribute__((noinline)) static long own_call(long number) {
  long result;
  __asm__ volatile("syscall\n\t.globl after_call\nafter_call:" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
  return result;
}

static void trace_child(void) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(1);
    raise(SIGSTOP);
    own_call(SYS_getppid);
    own_call(SYS_getuid);
    _exit((int)stop);
  }
  say("child", wait_for(pid));
  struct user_regs_struct r;
  ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD);
  ptrace(PTRACE_POKEDATA, pid, (void*)&stop, 42L);
  for (int calls = 0; calls < 4;) {
    ptrace(PTRACE_SYSCALL, pid, 0, 0);
    const int status = wait_for(pid);
    if (!WIFSTOPPED(status)) return say("unexpected", status);
    ptrace(PTRACE_GETREGS, pid, 0, &r);
    if (r.rip != (unsigned long)after_call) continue;
    ++calls;
    printf("call %llu, %s\n", r.orig_rax, (long long)r.rax == -ENOSYS ? "enter" : "leave");
  }
  int steps = 0;
  for (; steps < 3; ++steps) {
    ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
    say("step", wait_for(pid));
    ptrace(PTRACE_GETREGS, pid, 0, &r);
    printf("in the %s\n", where(r.rip));
  }
  ptrace(PTRACE_CONT, pid, 0, 0);
  say("child", wait_for(pid));
}

static void trace_program(const char* self) {
  const pid_t pid = vfork();
  if (pid == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(1);
    execl(self, self, "program", NULL);
    _exit(2);
  }
  say("exec", wait_for(pid));
  ptrace(PTRACE_CONT, pid, 0, 0);
  say("program", wait_for(pid));
}

static void* turn(void* nothing) {
  while (!stop) ++turns;
  return nothing;
}

// What a child says of itself: whether its first thread is out of the C library, and its second thread.
static struct { pid_t out, second; } volatile* told;

static void* tell_and_turn(void* nothing) {
  told->second = (pid_t)syscall(SYS_gettid);
  return turn(nothing);
}

// A child that turns, with a second thread if `threads`, until `stop` is poked into it.
static pid_t turning_child(int threads) {
  told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(told != MAP_FAILED);
  const pid_t pid = fork();
  if (pid == 0) {
    pthread_t other;
    if (threads) pthread_create(&other, NULL, tell_and_turn, NULL);
    told->out = 1;
    turn(NULL);
    if (threads) pthread_join(other, NULL);
    _exit(7);
  }
  while (!told->out || (threads && !told->second)) usleep(1000);
  return pid;
}

static void attach(int seize, int threads) {
  const pid_t pid = turning_child(threads);
  if (seize) {
    if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, pid, 0, 0) != 0) perror("seize");
  } else if (ptrace(PTRACE_ATTACH, pid, 0, 0) != 0) {
    perror("attach");
  }
  say(seize ? "seized" : "attached", wait_for(pid));
  struct user_regs_struct r;
  ptrace(PTRACE_GETREGS, pid, 0, &r);
  printf("in the %s\n", where(r.rip));
  ptrace(PTRACE_POKEDATA, pid, (void*)&stop, 1L);
  ptrace(PTRACE_DETACH, pid, 0, 0);
  say("detached", wait_for(pid));
}

static volatile int forking;

static void* forks(void* nothing) {
  while (forking) {
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    wait_for(pid);
  }
  return nothing;
}

// While another thread makes processes, each of which asks to be followed.
static void attach_beside_forks(void) {
  pthread_t other;
  forking = 1;
  CHECK(pthread_create(&other, NULL, forks, NULL) == 0);
  int exits = 0;
  for (int k = 0; k < 8; ++k) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
      char c;
      _exit(read(ends[0], &c, 1) == 1 ? 7 : 1);
    }
    usleep(20000);
    CHECK(ptrace(PTRACE_ATTACH, pid, 0, 0) == 0);
    wait_for(pid);
    CHECK(write(ends[1], "x", 1) == 1);
    ptrace(PTRACE_CONT, pid, 0, 0);
    const int status = wait_for(pid);
    exits += WIFEXITED(status) && WEXITSTATUS(status) == 7;
    close(ends[0]);
    close(ends[1]);
  }
  forking = 0;
  CHECK(pthread_join(other, NULL) == 0);
  printf("beside forks: %d exits\n", exits);
}

// At once after the fork: the fault that the tracer sees is the program's.
static void attach_to_young(void) {
  enum { kChildren = 20 };
  int faults = 0;
  for (int k = 0; k < kChildren; ++k) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
      char c;
      if (read(ends[0], &c, 1) != 1) _exit(1);
      __asm__ volatile("movb $1, (%0)" : : "r"(8L) : "memory");
      _exit(2);
    }
    CHECK(ptrace(PTRACE_ATTACH, pid, 0, 0) == 0);
    int status = wait_for(pid);
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    CHECK(write(ends[1], "x", 1) == 1);
    ptrace(PTRACE_CONT, pid, 0, 0);
    status = wait_for(pid);
    siginfo_t info;
    struct user_regs_struct r;
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSEGV && ptrace(PTRACE_GETSIGINFO, pid, 0, &info) == 0);
    CHECK(ptrace(PTRACE_GETREGS, pid, 0, &r) == 0);
    faults += info.si_addr == (void*)8 && r.rip >= (unsigned long)&__executable_start && r.rip < (unsigned long)&etext;
    ptrace(PTRACE_CONT, pid, 0, SIGSEGV);
    status = wait_for(pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    close(ends[0]);
    close(ends[1]);
  }
  printf("young: %d faults\n", faults);
}

// One thread after the other, and again, as a debugger does.
static void attach_to_each(void) {
  const pid_t pid = turning_child(1);
  const pid_t tids[] = {pid, told->second};
  struct user_regs_struct r;
  for (int round = 0; round < 2; ++round) {
    for (int k = 0; k < 2; ++k) {
      CHECK(ptrace(PTRACE_ATTACH, tids[k], 0, 0) == 0);
      say("each", wait_for(tids[k]));
      CHECK(ptrace(PTRACE_GETREGS, tids[k], 0, &r) == 0);
      printf("in the %s\n", where(r.rip));
    }
    if (round == 1) ptrace(PTRACE_POKEDATA, pid, (void*)&stop, 1L);
    for (int k = 0; k < 2; ++k) CHECK(ptrace(PTRACE_DETACH, tids[k], 0, 0) == 0);
  }
  say("each", wait_for(pid));
}

static void attach_to_waiting(void) {
  int ends[2];
  char c = 'x';
  if (pipe(ends) != 0) exit(1);
  const pid_t pid = fork();
  if (pid == 0) _exit(read(ends[0], &c, 1) == 1 && c == 'y' ? 5 : 6);
  usleep(100000);
  ptrace(PTRACE_SEIZE, pid, 0, 0);
  ptrace(PTRACE_INTERRUPT, pid, 0, 0);
  say("waiting", wait_for(pid));
  ptrace(PTRACE_CONT, pid, 0, 0);
  c = 'y';
  if (write(ends[1], &c, 1) != 1) exit(1);
  say("waiting", wait_for(pid));
}

int main(int argc, char** argv) {
  (void)argc;
  if (argc > 1) {
    puts("the program");
    return 3;
  }
  trace_child();
  trace_program(argv[0]);
  attach(0, 0);
  attach(1, 0);
  attach(1, 1);
  attach_to_each();
  attach_to_young();
  attach_beside_forks();
  attach_to_waiting();
  return finish();
}
