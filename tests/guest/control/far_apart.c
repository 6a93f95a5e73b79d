// Code beside the program, beside the libraries, and in between: what it reaches by rip, indirect transfers whose targets
// share an entry of the table, direct jumps from one region to another, and faults.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

typedef uint64_t (*Function)(uint64_t);

enum { kBytes = 1 << 20, kSame = 1 << 18 };

// return x + data, with data by rip
__attribute__((noinline, aligned(64))) static uint64_t in_program(uint64_t x) {
  static volatile uint64_t data = 1000;
  return x + data;
}

static uint8_t* code_at(uint64_t where, int fixed) {
  uint8_t* const p = mmap((void*)where, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (fixed ? MAP_FIXED_NOREPLACE : 0), -1, 0);
  CHECK(p != MAP_FAILED && (!fixed || (uint64_t)p == where));
  return p;
}

static void make_executable(uint8_t* p) { CHECK(mprotect(p, kBytes, PROT_READ | PROT_EXEC) == 0); }

// mov rax, [rip + 4]; add rax, rdi; ret; the constant
static Function put_adder(uint8_t* at, uint64_t constant) {
  static const uint8_t kCode[] = {0x48, 0x8b, 0x05, 0x04, 0, 0, 0, 0x48, 0x01, 0xf8, 0xc3};
  memcpy(at, kCode, sizeof kCode);
  memcpy(at + sizeof kCode, &constant, 8);
  return (Function)(void*)at;
}

static uint8_t* put_jump(uint8_t* at, uint8_t opcode, const uint8_t* to) {
  const int64_t distance = to - (at + 5);
  CHECK(distance == (int32_t)distance);
  const int32_t d = (int32_t)distance;
  *at = opcode;
  memcpy(at + 1, &d, 4);
  return at + 5;
}

// loop: dec rdi; js out; jmp other       other: add rax, 3; call back; jmp loop       out: ret       back: inc rax; ret
static Function put_ping_pong(uint8_t* near, uint8_t* far) {
  static const uint8_t kLoop[] = {0x48, 0xff, 0xcf, 0x78, 0x05}, kAdd[] = {0x48, 0x83, 0xc0, 3}, kBack[] = {0x48, 0xff, 0xc0, 0xc3};
  uint8_t* p = near;
  memcpy(p, kLoop, sizeof kLoop);
  p = put_jump(p + sizeof kLoop, 0xe9, far);
  *p++ = 0xc3;
  uint8_t* const back = p;
  memcpy(back, kBack, sizeof kBack);
  memcpy(far, kAdd, sizeof kAdd);
  p = put_jump(far + sizeof kAdd, 0xe8, back);
  put_jump(p, 0xe9, near);
  return (Function)(void*)near;
}

static volatile uint64_t g_faults, g_expected_pc, g_expected_rdi;
static uint8_t* g_page;

static void on_fault(int number, siginfo_t* info, void* context) {
  greg_t* const g = ((ucontext_t*)context)->uc_mcontext.gregs;
  CHECK_EQUAL(number, SIGSEGV);
  CHECK_EQUAL(g[REG_RIP], g_expected_pc);
  CHECK_EQUAL(g[REG_RDI], g_expected_rdi);
  CHECK_EQUAL(info->si_addr, g_page);
  CHECK_EQUAL(g[REG_RAX], 5);
  ++g_faults;
  CHECK(mprotect(g_page, 4096, PROT_READ | PROT_WRITE) == 0);
}

// mov eax, 5; mov rax, [rip to the page]; add rax, rdi; ret
static void check_fault(uint8_t* code) {
  uint8_t* const at = code + 2048;
  static const uint8_t kMove[] = {0xb8, 5, 0, 0, 0, 0x48, 0x8b, 0x05}, kAdd[] = {0x48, 0x01, 0xf8, 0xc3};
  g_page = code + kBytes - 4096;
  memcpy(at, kMove, sizeof kMove);
  const int32_t distance = (int32_t)(g_page - (at + 12));
  memcpy(at + 8, &distance, 4);
  memcpy(at + 12, kAdd, sizeof kAdd);
  make_executable(code);
  CHECK(mprotect(g_page, 4096, PROT_NONE) == 0);
  g_expected_pc = (uint64_t)at + 5;
  g_expected_rdi = 77;
  CHECK_EQUAL(((Function)(void*)at)(77), 77);
  CHECK(mprotect(g_page, 4096, PROT_NONE) == 0);
  CHECK_EQUAL(((Function)(void*)at)(77), 77);
}

int main(void) {
  const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  const uint64_t here = (uint64_t)&in_program, megabyte = here & ~0xfffffull;
  uint8_t* const library = code_at(0, 0);
  uint8_t* const near = code_at(megabyte + 0x20000000, 1);
  uint8_t* const between = code_at(megabyte + 0x60000000, 1);
  const uint64_t same = here % kSame;
  Function functions[4] = {in_program};
  uint8_t* const regions[3] = {library, near, between};
  for (int k = 0; k < 3; ++k) {
    uint8_t* const aligned = (uint8_t*)(((uint64_t)regions[k] + kSame - 1) & ~(uint64_t)(kSame - 1));
    functions[k + 1] = put_adder(aligned + same, 2000u + 1000u * (unsigned)k);
  }
  uint8_t* const gap = (uint8_t*)(((same + 0x8000) % kSame) & ~0xfffull);   // beside the adders
  const Function ping_pong = put_ping_pong(near + (uint64_t)gap, between + (uint64_t)gap);
  for (int k = 0; k < 3; ++k) check_fault(regions[k]);
  CHECK_EQUAL(g_faults, 6);
  uint64_t sum = 0;
  for (unsigned k = 0; k < 4000; ++k) {
    const unsigned which = (k * 7 + k / 64) % 4;
    const uint64_t value = functions[which](k);
    CHECK_EQUAL(value, k + 1000 * (which + 1));
    sum = mix(sum, value);
  }
  uint64_t count = 0, turns = 500;
  __asm__ volatile("sub $128, %%rsp\n call *%2\n add $128, %%rsp" : "+a"(count), "+D"(turns) : "r"(ping_pong) : "memory", "cc");
  CHECK_EQUAL(count, 500 * 4);
  printf("%016llx\n", (unsigned long long)sum);
  return finish();
}
