// build: -pthread
// One thread calls functions whose first instruction other threads exchange, atomically, for another one of the same length: what runs is always
// one of them.
#include <pthread.h>
#include <stdatomic.h>

#include "tests/guest/written_code.h"

enum { kThreads = 2, kCalls = 60000 };

struct Kind {
  const char* what;
  uint8_t versions[3][4];   // the last is that before it where there are two
  long results[3];          // of 16
};
static const struct Kind kinds[] = {
    {"addq $1, (%rdi); lea 0(%rsi), %esi", {{0x48, 0x83, 0x07, 0x01}, {0x8d, 0x74, 0x26, 0x00}, {0x8d, 0x74, 0x26, 0x00}}, {16, 16, 16}},
    {"jmp over ud2; nop", {{0xeb, 0x02, 0x0f, 0x0b}, {0x0f, 0x1f, 0x40, 0x00}, {0x0f, 0x1f, 0x40, 0x00}}, {16, 16, 16}},
    {"jmp over ret; add $8, %rax", {{0xeb, 0x02, 0xc3, 0x90}, {0x48, 0x83, 0xc0, 0x08}, {0x48, 0x83, 0xc0, 0x08}}, {16, 24, 24}},
    {"add $8, %rax; nop; lea 8(%rax), %rax", {{0x48, 0x83, 0xc0, 0x08}, {0x0f, 0x1f, 0x40, 0x00}, {0x48, 0x8d, 0x40, 0x08}}, {24, 16, 24}},
};

static _Atomic uint32_t* patched;
static uint32_t versions[3];
static atomic_int over;

static void* patch(void* unused) {
  for (unsigned k = 0; !atomic_load(&over); ++k) atomic_store(patched, versions[k % 3]);
  return unused;
}

static void run(uint8_t* code, const struct Kind* kind) {
  static const uint8_t rest[] = {0xff, 0xc2, 0xc3};   // inc %edx; ret
  memcpy(versions, kind->versions, sizeof versions);
  memcpy(code, versions, 4);
  memcpy(code + 4, rest, sizeof rest);
  patched = (_Atomic uint32_t*)code;
  atomic_store(&over, 0);
  pthread_t threads[kThreads];
  for (int k = 0; k < kThreads; ++k) CHECK_EQUAL(pthread_create(&threads[k], NULL, patch, NULL), 0);
  long cell = 0;
  for (int k = 0; k < kCalls; ++k) {
    long result = 16, passed = 100;
    asm volatile("call *%3" : "+a"(result), "+d"(passed), "+m"(cell) : "r"(code), "D"(&cell) : "rsi", "memory", "cc");
    CHECK_EQUAL(passed, 101);
    CHECK(result == kind->results[0] || result == kind->results[1] || result == kind->results[2]);
  }
  CHECK(cell >= 0 && cell <= kCalls);
  atomic_store(&over, 1);
  for (int k = 0; k < kThreads; ++k) pthread_join(threads[k], NULL);
  puts(kind->what);
}

int main(void) {
  uint8_t* code = pages(1);
  for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; ++k) run(code + 64 * k, &kinds[k]);
  return finish();
}
