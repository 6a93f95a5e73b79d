// x87's last instruction pointer as fnstenv, fnsave, fxsave, xsave and a signal's frame show it: that of the program's own instruction.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

static uint8_t area[4096] __attribute__((aligned(64)));
static uint32_t environment[28];
extern char here[], faulty[], waiting[], in_steps[];
static volatile uint64_t in_frame;
static int keeps_pointers;

static uint64_t pointer_in(const void* at) {
  uint64_t pointer;
  memcpy(&pointer, at, sizeof pointer);
  return pointer;
}

// Processors of AMD keep the pointer over a switch of contexts only while an exception waits, and else show 0 behind it.
static void check(uint64_t pointer, uint64_t expected) {
  if (pointer != 0 || keeps_pointers) CHECK_EQUAL(pointer, expected);
}

static __attribute__((noinline)) void load(void) { __asm__ volatile("here: fldpi\n fstp %%st(0)\n" ::: "st"); }

// The instruction that counts is the last one that is no control instruction: the fstp behind `here`, two bytes further.
#define EXPECTED ((uint64_t)here + 2)

static void handler(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  const ucontext_t* u = context;
  in_frame = u->uc_mcontext.fpregs->rip;
}

static void fault_handler(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  ucontext_t* u = context;
  in_frame = u->uc_mcontext.fpregs->rip;
  u->uc_mcontext.fpregs->cwd |= 0x3f;
  u->uc_mcontext.fpregs->swd = 0;
}

static void each_way(void) {
  load();
  __asm__ volatile("fnstenv %0" : "=m"(environment));
  check(environment[3], (uint32_t)EXPECTED);
  __asm__ volatile("fldenv %0" : : "m"(environment));
  load();
  __asm__ volatile("fxsave64 %0" : "=m"(area));
  check(pointer_in(area + 8), EXPECTED);
  memset(area, 0, sizeof area);
  load();
  __asm__ volatile("xsave64 %0" : "=m"(area) : "a"(3), "d"(0));
  check(pointer_in(area + 8), EXPECTED);
  __asm__ volatile("xrstor64 %0" : : "m"(area), "a"(3), "d"(0));
  load();
  raise(SIGUSR1);
  check(in_frame, EXPECTED);
  load();
  __asm__ volatile("fnsave %0" : "=m"(area));
  check(*(uint32_t*)(area + 12), (uint32_t)EXPECTED);
}

// An exception that is not masked comes at the next x87 instruction.
static void fault(void) {
  const uint16_t control = 0x37f & ~4;   // division by zero
  __asm__ volatile("fninit\n fldcw %0\n fld1\n fldz\n faulty: fdivrp\n fwait\n fninit" : : "m"(control));
  CHECK_EQUAL(in_frame, (uint64_t)faulty);
}

// The code that set the pointer is gone, and other code in its place, when it is stored. An exception waits meanwhile.
static void code_that_goes(void) {
  static const uint8_t kDivision[] = {0xd9, 0xe8, 0xd9, 0xee, 0xde, 0xf9, 0xc3};   // fld1; fldz; fdivp; ret
  static const uint16_t kControl = 0x37f & ~4;
  uint8_t* code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != MAP_FAILED);
  for (int round = 0; round < 20; ++round) {
    uint8_t* at = code + 64 * round;
    memcpy(at, kDivision, sizeof kDivision);
    __asm__ volatile("fninit\n fldcw %0" : : "m"(kControl));
    ((void (*)(void))at)();
    at[0] = 0xc3;   // to be noticed
    ((void (*)(void))at)();
    __asm__ volatile("fnstenv %0\n fninit" : "+m"(environment));
    CHECK_EQUAL(environment[3], (uint32_t)(uint64_t)(at + 4));
  }
  munmap(code, 4096);
}

static void on_trap(int signal) { (void)signal; }

// Step by step: under the trap flag.
static void stepped(void) {
  const uint16_t control = 0x37f & ~4;
  signal(SIGTRAP, on_trap);
  __asm__ volatile(
      "sub $256, %%rsp\n fninit\n fldcw %1\n fld1\n fldz\n pushf\n orl $0x100, (%%rsp)\n popf\n"
      "in_steps: fdivrp\n nop\n fnstenv %0\n"
      "pushf\n andl $~0x100, (%%rsp)\n popf\n add $256, %%rsp\n fninit"
      : "=m"(environment)
      : "m"(control)
      : "memory", "cc");
  CHECK_EQUAL(environment[3], (uint32_t)(uint64_t)in_steps);
}

// A child that leaves the engine, with an exception waiting.
static void vforked(void) {
  const uint16_t control = 0x37f & ~4;
  __asm__ volatile("fninit\n fldcw %0\n fld1\n fldz\n waiting: fdivrp" : : "m"(control));
  const pid_t child = vfork();
  if (child == 0) {
    __asm__ volatile("fnstenv %0" : "=m"(environment));
    _exit(environment[3] == (uint32_t)(uint64_t)waiting ? 3 : 4);
  }
  __asm__ volatile("fninit");
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  CHECK_EQUAL(WEXITSTATUS(status), 3);
}

int main(void) {
  load();
  __asm__ volatile("fxsave64 %0" : "=m"(area));
  keeps_pointers = pointer_in(area + 8) == EXPECTED;
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &action, NULL);
  action.sa_sigaction = fault_handler;
  sigaction(SIGFPE, &action, NULL);
  for (int round = 0; round < 50; ++round) each_way();
  fault();
  code_that_goes();
  stepped();
  for (int round = 0; round < 4; ++round) vforked();
  load();
  const pid_t child = fork();
  if (child == 0) {
    __asm__ volatile("fnstenv %0" : "=m"(environment));
    check(environment[3], (uint32_t)EXPECTED);
    _exit(3);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  CHECK_EQUAL(WEXITSTATUS(status), 3);
  each_way();
  return finish();
}
