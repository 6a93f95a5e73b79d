// build: -pthread
// A process that shares this one's memory traces its threads, as a sanitizer's search for leaks does: it reads their registers.
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

enum { kStack = 1 << 16, kRounds = 5, kStateBytes = 1 << 14, kDone = 7, kNotYet = 8 };

static char stack[kStack] __attribute__((aligned(16)));
static volatile int tids[2];
static volatile uint64_t stacks[2], bases[2];
extern char waits_from, waits_to, spins_from, spins_to;

static void say_where(int k) {
  stacks[k] = (uint64_t)__builtin_frame_address(0);
  bases[k] = (uint64_t)__builtin_thread_pointer();
  tids[k] = (int)syscall(SYS_gettid);
}

// rbx, r12 and xmm15 hold what memory does not; rax too where it spins.
static void* waits(void* nothing) {
  say_where(0);
  __asm__ volatile("mov $0x1111222233334444, %%rbx\n mov $0x55, %%r12d\n movq %%rbx, %%xmm15\n waits_from:\n syscall\n waits_to:"
                   : : "a"(SYS_pause) : "rbx", "r12", "xmm15", "rcx", "r11", "memory");
  return nothing;
}

static void* spins(void* nothing) {
  say_where(1);
  __asm__ volatile("mov $0x1111222233334445, %%rbx\n mov $0x55, %%r12d\n movq %%rbx, %%xmm15\n mov $0x77, %%eax\n"
                   "spins_from: test $1, %%r12b\n jz 1f\n nop\n 1: jmp spins_from\n spins_to:" : : : "rax", "rbx", "r12", "xmm15", "memory");
  return nothing;
}

static int is_there(int k, const struct user_regs_struct* r) {
  const uint64_t pc[2][2] = {{(uint64_t)&waits_from, (uint64_t)&waits_to}, {(uint64_t)&spins_from, (uint64_t)&spins_to}};
  return r->rip >= pc[k][0] && r->rip <= pc[k][1] && (k == 1 || r->orig_rax == SYS_pause);
}

static void check_registers(int k, const struct user_regs_struct* r) {
  CHECK_EQUAL(r->rbx, 0x1111222233334444 + (uint64_t)k);
  CHECK_EQUAL(r->r12, 0x55);
  CHECK(r->rsp <= stacks[k] + 16 && r->rsp > stacks[k] - 4096);
  CHECK(is_there(k, r));
  CHECK_EQUAL(r->fs_base, bases[k]);
  if (k == 1) CHECK_EQUAL(r->rax, 0x77);
  if (k == 1) CHECK_EQUAL(r->orig_rax, -1);
}

static void look_at(int k) {
  static char state[kStateBytes];
  struct user_regs_struct r;
  struct user_fpregs_struct f;
  struct iovec set = {&r, sizeof r}, vectors = {state, sizeof state};
  uint64_t value;
  CHECK(ptrace(PTRACE_GETREGSET, tids[k], (void*)NT_PRSTATUS, &set) == 0);
  CHECK_EQUAL(set.iov_len, sizeof r);
  if (!is_there(k, &r)) _exit(kNotYet);   // detaches
  check_registers(k, &r);
  CHECK(ptrace(PTRACE_GETREGS, tids[k], 0, &r) == 0);
  check_registers(k, &r);
  CHECK_EQUAL(ptrace(PTRACE_PEEKUSER, tids[k], (void*)offsetof(struct user_regs_struct, rbx), 0), r.rbx);
  CHECK(ptrace(PTRACE_GETFPREGS, tids[k], 0, &f) == 0);
  memcpy(&value, f.xmm_space + 60, sizeof value);
  CHECK_EQUAL(value, r.rbx);
  CHECK(ptrace(PTRACE_GETREGSET, tids[k], (void*)NT_X86_XSTATE, &vectors) == 0);
  memcpy(&value, state + 160 + 240, sizeof value);
  CHECK_EQUAL(value, r.rbx);
  CHECK(state[512] & 2);   // SSE is present
}

static int traces(void* nothing) {
  (void)nothing;
  for (int k = 0; k < 2; ++k) {
    int status;
    CHECK(ptrace(PTRACE_ATTACH, tids[k], 0, 0) == 0);
    while (waitpid(tids[k], &status, __WALL) != tids[k]) CHECK(errno == EINTR);
    CHECK(WIFSTOPPED(status));
  }
  for (int k = 0; k < 2; ++k) look_at(k);
  for (int k = 0; k < 2; ++k) CHECK(ptrace(PTRACE_DETACH, tids[k], 0, 0) == 0);
  _exit(kDone);
}

int main(void) {
  pthread_t threads[2];
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  CHECK(pthread_create(&threads[0], NULL, waits, NULL) == 0 && pthread_create(&threads[1], NULL, spins, NULL) == 0);
  while (tids[0] == 0 || tids[1] == 0) sched_yield();
  for (int round = 0; round < kRounds;) {
    int status;
    const pid_t child = clone(traces, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED, NULL);
    CHECK(child > 0);
    while (waitpid(child, &status, __WALL) != child) CHECK(errno == EINTR);
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == kDone || WEXITSTATUS(status) == kNotYet));
    round += WEXITSTATUS(status) == kDone;
  }
  return finish();
}
