// build: -pthread
// Loops of one superblock, of which several passes may be translated as one: each pass must fault, leave, be entered, interrupted and
// replaced as if it were the only one.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

enum { kPage = 4096, kMost = 40 };

struct Loop {
  int adds;     // add $1, %rbx: as many
  int load;     // before which of them memory is read
  int leaves;   // a second way out, in the middle
};

// Where the parts of the loop that was emitted last are.
static uint8_t *load_at, *end_at;

static uint8_t* put(uint8_t* at, const char* bytes, size_t size) {
  memcpy(at, bytes, size);
  return at + size;
}

// again: add $1, %rbx ... ; add (%rsi), %rax ; ... ; [cmp %rdi, %rsi ; je out] ; add $8, %rsi ; dec %ecx ; jnz again ; ret
// out:   or $1, %rax ; ret
static void emit(uint8_t* at, struct Loop loop) {
  uint8_t *const again = at, *leave = NULL;
  for (int k = 0; k <= loop.adds; ++k) {
    if (k == loop.load) load_at = at, at = put(at, "\x48\x03\x06", 3);
    if (k < loop.adds) at = put(at, "\x48\x83\xc3\x01", 4);
  }
  if (loop.leaves) leave = at = put(at, "\x48\x39\xfe\x74\x00", 5);
  at = put(at, "\x48\x83\xc6\x08\xff\xc9\x0f\x85", 8);
  const int32_t distance = (int32_t)(again - (at + 4));
  memcpy(at, &distance, 4);
  end_at = at + 4;
  at = put(end_at, "\xc3", 1);
  if (leave) leave[-1] = (uint8_t)(at - leave);
  put(at, "\x48\x83\xc8\x01\xc3", 5);
}

static uint8_t* map(int pages) {
  uint8_t* const at = mmap(NULL, (size_t)pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(at != MAP_FAILED);
  return at;
}

static void protect(void* at, int pages, int protection) { CHECK_EQUAL(mprotect(at, (size_t)pages * kPage, protection), 0); }

struct Result {
  uint64_t sum, adds, at, left;
};

static struct Result run(const void* code, const uint64_t* from, const uint64_t* out, uint64_t turns) {
  struct Result r = {0, 0, (uint64_t)from, turns};
  __asm__ volatile("sub $128, %%rsp; call *%[code]; add $128, %%rsp"
                   : "+a"(r.sum), "+b"(r.adds), "+S"(r.at), "+c"(r.left) : [code] "r"(code), "D"(out) : "memory", "cc");
  return r;
}

static uint64_t fault_at, fault_adds, fault_sum, fault_turns;
static volatile int faults;

static void on_fault(int number, siginfo_t* info, void* context) {
  greg_t* const g = ((ucontext_t*)context)->uc_mcontext.gregs;
  (void)number;
  CHECK_EQUAL(g[REG_RIP], load_at);
  CHECK_EQUAL(info->si_addr, fault_at);
  CHECK_EQUAL(g[REG_RSI], fault_at);
  CHECK_EQUAL(g[REG_RBX], fault_adds);
  CHECK_EQUAL(g[REG_RAX], fault_sum);
  CHECK_EQUAL(g[REG_RCX], fault_turns);
  g[REG_RIP] = (greg_t)(uint64_t)end_at;
  ++faults;
}

static uint64_t sum_of(const uint64_t* from, int n) {
  uint64_t sum = 0;
  for (int k = 0; k < n; ++k) sum += from[k];
  return sum;
}

static void ways_out(void) {
  static const int kAdds[] = {0, 1, 2, 5, 11, 20, 29};
  uint64_t* const data = (uint64_t*)map(2);
  uint64_t* const border = data + kPage / 8;
  for (int k = 0; k < kPage / 8; ++k) data[k] = 2 * mix(1, (uint64_t)k);
  protect(border, 1, PROT_NONE);
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  CHECK_EQUAL(sigaction(SIGSEGV, &action, NULL), 0);
  int expected = 0;
  for (unsigned a = 0; a < sizeof kAdds / sizeof *kAdds; ++a)
    for (int k = 0; k < 6; ++k) {
      const struct Loop loop = {kAdds[a], kAdds[a] * (k / 2) / 2, k & 1};
      uint8_t* const code = map(1);
      emit(code, loop);
      protect(code, 1, PROT_READ | PROT_EXEC);
      for (int turns = 1; turns < 20; ++turns) {             // through the jump at the end
        const struct Result r = run(code, data, NULL, (uint64_t)turns);
        CHECK_EQUAL(r.sum, sum_of(data, turns));
        CHECK_EQUAL(r.adds, turns * loop.adds);
        CHECK_EQUAL(r.at, data + turns);
        CHECK_EQUAL(r.left, 0);
      }
      for (int turns = 0; turns < 18 && loop.leaves; ++turns) {   // in the middle
        const struct Result r = run(code, data, data + turns, kMost);
        CHECK_EQUAL(r.sum, sum_of(data, turns + 1) | 1);
        CHECK_EQUAL(r.adds, (turns + 1) * loop.adds);
        CHECK_EQUAL(r.left, kMost - turns);
      }
      for (int turns = 0; turns < 18; ++turns) {             // by a fault
        fault_at = (uint64_t)border;
        fault_adds = (uint64_t)(turns * loop.adds + loop.load);
        fault_sum = sum_of(border - turns, turns);
        fault_turns = (uint64_t)(kMost - turns);
        run(code, border - turns, NULL, kMost);
        CHECK_EQUAL(faults, ++expected);
      }
      for (int into = 0; into <= loop.load; ++into) {        // entered at each instruction up to the load
        const struct Result r = run(code + 4 * into, data, NULL, 17);
        CHECK_EQUAL(r.sum, sum_of(data, 17));
        CHECK_EQUAL(r.adds, 17 * loop.adds - into);
      }
      munmap(code, kPage);
    }
  munmap(data, 2 * kPage);
  puts("ways out of each pass"), fflush(stdout);
}

// popf as the first instruction: at one pass it sets the trap flag.
static volatile int traps;

static void on_trap(int number, siginfo_t* info, void* context) {
  greg_t* const g = ((ucontext_t*)context)->uc_mcontext.gregs;
  (void)number, (void)info;
  g[REG_EFL] &= ~0x100;
  CHECK_EQUAL(g[REG_RCX], fault_turns);
  ++traps;
}

static void trap_in_a_pass(void) {
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
  CHECK_EQUAL(sigaction(SIGTRAP, &action, NULL), 0);
  for (uint64_t pass = 1; pass <= 12; ++pass) {
    uint64_t flags[12];
    for (int k = 0; k < 12; ++k) flags[k] = k + 1u == pass ? 0x302 : 0x202;
    uint64_t left = 12;
    fault_turns = left - pass;   // behind the instruction behind the popf
    __asm__ volatile("mov %%rsp, %%r12; mov %[flags], %%rsp\n"
                     "1: popf; dec %%rcx; jnz 1b\n"
                     "mov %%r12, %%rsp" : "+c"(left) : [flags] "r"(flags) : "r12", "memory", "cc");
    CHECK_EQUAL(left, 0);
    CHECK_EQUAL(traps, pass);
  }
  puts("a trap in each pass"), fflush(stdout);
}

// A handler that comes at any instruction finds registers that fit it.
extern const uint8_t counting_loop[], counting_second[];
static volatile int ticks, torn;

static void on_tick(int number, siginfo_t* info, void* context) {
  const greg_t* const g = ((ucontext_t*)context)->uc_mcontext.gregs;
  (void)number, (void)info;
  if (g[REG_RIP] >= (greg_t)(uint64_t)counting_loop && g[REG_RIP] < (greg_t)(uint64_t)counting_loop + 14) {
    const int ahead = g[REG_RIP] == (greg_t)(uint64_t)counting_second;
    if (g[REG_R12] - g[REG_R13] != ahead) torn = 1;
  }
  ++ticks;
}

static void in_a_storm(void) {
  struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
  CHECK_EQUAL(sigaction(SIGALRM, &action, NULL), 0);
  const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  __asm__ volatile(
      ".globl counting_loop, counting_second\n"
      "xor %%r12d, %%r12d; xor %%r13d, %%r13d\n"
      "counting_loop: inc %%r12\n"
      "counting_second: inc %%r13\n"
      "cmpl $40, %[ticks]; jl counting_loop"
      : : [ticks] "m"(ticks) : "memory", "cc", "r12", "r13");
  setitimer(ITIMER_REAL, &never, NULL);
  CHECK(!torn);
  puts("in a storm of signals"), fflush(stdout);
}

// Code that is replaced, while another thread waits in a loop: add $n, %rbx, of which the number is on the second page.
static volatile int stop, waits;

static void* wait_in_a_loop(void* unused) {
  waits = 1;
  __asm__ volatile("1: cmpl $0, %0; je 1b" : : "m"(stop) : "cc", "memory");
  return unused;
}

static void replaced(void) {
  pthread_t thread;
  CHECK_EQUAL(pthread_create(&thread, NULL, wait_in_a_loop, NULL), 0);
  while (!waits) sched_yield();
  uint8_t* const code = map(2);
  const uint64_t data[kMost] = {0};
  for (int over = 0; over < 12; ++over) {
    uint8_t* const at = code + kPage - over;
    protect(code, 2, PROT_READ | PROT_WRITE);
    emit(at, (struct Loop){3, 0, 0});
    protect(code, 1, PROT_READ | PROT_EXEC);
    for (int n = 1; n < 4; ++n) {
      protect(code + kPage, 1, PROT_READ | PROT_WRITE);
      end_at[-4 - 2 - 6 - 1] = (uint8_t)n;   // of the last addition
      protect(code + kPage, 1, PROT_READ | PROT_EXEC);
      for (int turns = 1; turns < 20; ++turns) CHECK_EQUAL(run(at, data, NULL, (uint64_t)turns).adds, turns * (2 + n));
    }
  }
  stop = 1;
  CHECK_EQUAL(pthread_join(thread, NULL), 0);
  puts("replaced"), fflush(stdout);
}

int main(void) {
  ways_out();
  trap_in_a_pass();
  in_a_storm();
  replaced();
  return finish();
}
