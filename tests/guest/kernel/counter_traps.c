// A performance counter that raises SIGTRAP at each access to a variable: synchronous, with the counter's address and data.
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

enum { kTrapPerf = 6, kData = 0x1234567 };

static volatile int watched;
static volatile int traps;
static volatile int ticks;
static volatile uint64_t rbx;

static void handler(int number, siginfo_t* info, void* context) {
  CHECK(number == SIGTRAP && info->si_code == kTrapPerf && info->si_addr == &watched);
  rbx = (uint64_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RBX];
  ++traps;
}

static void tick(int number) {
  (void)number;
  ++ticks;
}

// A timer's signal comes while slow instructions run, and waits; then the counter traps: both are handled, neither twice.
static void trap_while_a_signal_waits(void) {
  const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
  struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
  struct sigaction before;
  CHECK(sigaction(SIGALRM, &action, &before) == 0);
  CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
  ticks = 0;
  for (int round = 0; ticks < 1000; ++round) {
    traps = 0;
    uint64_t dividend = (uint64_t)round + 1, remainder = 0;
    __asm__ volatile(".rept 12\n\tmov $1, %%edx\n\tdiv %[divisor]\n\t.endr\n\tincl %[watched]\n\t"
                     ".rept 12\n\tmov $1, %%edx\n\tdiv %[divisor]\n\t.endr\n\tincl %[watched]"
                     : "+a"(dividend), "=&d"(remainder), [watched] "+m"(watched) : [divisor] "r"(~0ull) : "cc", "memory");
    CHECK_EQUAL(traps, 2);
  }
  CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
  CHECK(sigaction(SIGALRM, &before, NULL) == 0);
}

// The trap is behind the whole instruction, whose end nobody has noted yet.
static void trap_behind_strings(void) {
  const int other = 5;
  for (int round = 0; round < 20; ++round) {
    traps = 0;
    volatile int* to = &watched;
    const int* from = &other;
    uint64_t count = 1;
    __asm__ volatile("rep stosl" : "+D"(to), "+c"(count) : "a"(round) : "memory");
    CHECK(traps == 1 && to == &watched + 1 && count == 0 && watched == round);
    to = &watched, count = 1;
    __asm__ volatile("rep movsl" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    CHECK(traps == 2 && to == &watched + 1 && from == &other + 1 && watched == 5);
  }
}

static void count_trap(int number) {
  (void)number;
  ++ticks;
}

// A clock overflows anywhere, between any two instructions.
static void trap_by_clock(void) {
  struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attributes, .config = PERF_COUNT_SW_TASK_CLOCK,
                                       .sample_period = 50000, .disabled = 1, .exclude_kernel = 1, .exclude_hv = 1, .remove_on_exec = 1,
                                       .sigtrap = 1, .sig_data = kData};
  struct sigaction action = {.sa_handler = count_trap};
  CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
  const int counter = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  CHECK(counter >= 0);
  ticks = 0;
  CHECK(ioctl(counter, PERF_EVENT_IOC_ENABLE, 0) == 0);
  for (int round = 0; ticks < 200; ++round) {
    uint64_t sum = 0;
    for (uint64_t k = 0; k < 1000; ++k) {
      __asm__ volatile("push %[k]\n\taddq %[k], (%%rsp)\n\tpop %%rcx\n\tadd %%rcx, %[sum]" : [sum] "+r"(sum) : [k] "r"(k) : "rcx", "cc", "memory");
    }
    CHECK_EQUAL(sum, 999000);
  }
  CHECK(ioctl(counter, PERF_EVENT_IOC_DISABLE, 0) == 0);
}

int main(void) {
  skip_if_imitated();
  struct perf_event_attr attributes = {.type = PERF_TYPE_BREAKPOINT, .size = sizeof attributes, .sample_period = 1, .disabled = 1,
                                       .bp_type = HW_BREAKPOINT_W, .bp_len = HW_BREAKPOINT_LEN_4, .exclude_kernel = 1, .exclude_hv = 1,
                                       .remove_on_exec = 1, .sigtrap = 1, .sig_data = kData};
  attributes.bp_addr = (uintptr_t)&watched;
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = handler;
  CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
  const int counter = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  skip_unless(counter >= 0, "hardware breakpoints for programs");
  for (int round = 0; round < 50; ++round) {
    watched = round;
    CHECK_EQUAL(traps, 3 * round);
    CHECK(ioctl(counter, PERF_EVENT_IOC_ENABLE, 0) == 0);
    watched = round;
    CHECK_EQUAL(traps, 3 * round + 1);
    uint64_t count = 0;
    __asm__ volatile("mov %[round], %%rbx\n\tincl %[watched]\n\tmov $77, %%ebx\n\taddl $1, %[watched]\n\tmov %[traps], %k[count]"
                     : [watched] "+m"(watched), [count] "=&r"(count) : [round] "r"((uint64_t)round), [traps] "m"(traps) : "rbx", "cc", "memory");
    CHECK(count == (uint64_t)(3 * round + 3) && rbx == 77);
    CHECK(ioctl(counter, PERF_EVENT_IOC_DISABLE, 0) == 0);
  }
  CHECK(ioctl(counter, PERF_EVENT_IOC_ENABLE, 0) == 0);
  trap_while_a_signal_waits();
  trap_behind_strings();
  CHECK(ioctl(counter, PERF_EVENT_IOC_DISABLE, 0) == 0);
  trap_by_clock();
  return finish();
}
