// build: -pthread
// Pages of code that change again and again by mprotect, beside code that stays: it jumps there directly, conditionally, by a call and by falling
// through, and is jumped to; targets that differ by multiples of the table of indirect targets, changed in turns; other threads meanwhile.
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "tests/guest/guest.h"

enum { kPage = 4096, kWays = 4, kFar = 1 << 16, kFarTargets = 12 };
typedef uint32_t Function(uint32_t);

static uint8_t *stays, *changes;   // two pages side by side

static uint8_t* put(uint8_t* at, const void* bytes, size_t size) { return (uint8_t*)memcpy(at, bytes, size) + size; }

static uint8_t* put_relative(uint8_t* at, const char* opcode, size_t size, const uint8_t* to) {
  at = put(at, opcode, size);
  const int32_t distance = (int32_t)(to - (at + 4));
  return put(at, &distance, 4);
}

// eax = edi + number, by way of registers that differ from shape to shape (each may be what the engine would like to have); ret
static uint8_t* put_sum(uint8_t* at, uint32_t number, int shape) {
  static const char* const kMore[] = {"\x90\x90\x90", "\x49\x89\xf8", "\x4d\x31\xd2", "\x41\x31\xdb", "\x49\x89\xd1"};   // nops; mov r8,rdi; xor r10,r10; xor r11d,ebx; mov r9,rdx
  at = put(at, kMore[shape % 5], 3);
  at = put(at, "\xb8", 1);   // mov eax, number
  at = put(at, &number, 4);
  at = put(at, kMore[(shape + 1) % 5], 3);
  return put(at, "\x01\xf8\xc3", 3);   // add eax, edi; ret
}

static uint8_t* target(int way) { return way == kWays - 1 ? changes : changes + 256 * (way + 1); }

// What stays: jmp; test edi,edi, jne (else -1); call, then + 1; and the last bytes of the page, behind which the other begins.
static uint8_t* way_in(int way) { return way == kWays - 1 ? stays + kPage - 2 : stays + 64 * way; }

static void put_what_stays(void) {
  put_relative(way_in(0), "\xe9", 1, target(0));
  uint8_t* at = put_relative(put(way_in(1), "\x85\xff", 2), "\x0f\x85", 2, target(1));
  put(at, "\xb8\xff\xff\xff\xff\xc3", 6);
  at = put_relative(way_in(2), "\xe8", 1, target(2));
  put(at, "\x83\xc0\x01\xc3", 4);
  put(way_in(3), "\x85\xff", 2);   // test edi, edi
  put(stays + 1024, "\x8d\x47\x07\xc3", 4);   // lea eax, [rdi + 7]; ret: where changing code jumps to
}

static void change(uint32_t number, int shape) {
  CHECK(mprotect(changes, kPage, PROT_READ | PROT_WRITE) == 0);
  for (int way = 0; way < kWays; ++way) put_sum(target(way), number + (uint32_t)way, shape + way);
  if (number % 3 == 0) put_relative(target(0), "\xe9", 1, stays + 1024);
  CHECK(mprotect(changes, kPage, PROT_READ | PROT_EXEC) == 0);
}

static void enter_all_ways(uint32_t number) {
  for (uint32_t k = 1; k < 4; ++k) {
    CHECK_EQUAL(((Function*)way_in(0))(k), number % 3 == 0 ? k + 7 : k + number);
    CHECK_EQUAL(((Function*)way_in(1))(k), k + number + 1);
    CHECK_EQUAL(((Function*)way_in(2))(k), k + number + 2 + 1);
    CHECK_EQUAL(((Function*)way_in(3))(k), k + number + 3);
    CHECK_EQUAL(((Function*)target(3))(k), k + number + 3);
  }
  CHECK_EQUAL(((Function*)way_in(1))(0), 0xffffffff);
}

// Each other one changes, the others are looked for behind them.
static void change_in_turns(uint8_t* far, int rounds) {
  for (int k = 0; k < kFarTargets; ++k) put_sum(far + k * kFar, (uint32_t)k, k);
  CHECK(mprotect(far, kFarTargets * kFar, PROT_READ | PROT_EXEC) == 0);
  uint32_t number[kFarTargets];
  for (int k = 0; k < kFarTargets; ++k) number[k] = (uint32_t)k;
  for (int round = 0; round < rounds; ++round) {
    const int which = round * 5 % kFarTargets;
    if (which % 2 == 0) {
      CHECK(mprotect(far + which * kFar, kPage, PROT_READ | PROT_WRITE) == 0);
      put_sum(far + which * kFar, number[which] = (uint32_t)round * 100, round);
      CHECK(mprotect(far + which * kFar, kPage, PROT_READ | PROT_EXEC) == 0);
    }
    for (int k = 0; k < kFarTargets; ++k) CHECK_EQUAL(((Function*)(far + (k * 7 % kFarTargets) * kFar))(1), 1 + number[k * 7 % kFarTargets]);
  }
}

static atomic_int stop;

static void* enter(void* number) {
  uint32_t rounds = 0;
  do enter_all_ways(*(uint32_t*)number);
  while (++rounds < 20 || !atomic_load(&stop));
  return NULL;
}

int main(void) {
  uint8_t* const far = mmap(NULL, kFarTargets * kFar, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stays = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(far != MAP_FAILED && stays != MAP_FAILED);
  changes = stays + kPage;
  put_what_stays();
  change(1, 0);
  CHECK(mprotect(stays, kPage, PROT_READ | PROT_EXEC) == 0);
  for (uint32_t round = 0; round < 200; ++round) {
    if (round % 7 != 0) enter_all_ways(round == 0 ? 1 : round);   // not each change is seen
    change(round + 1, (int)round);
  }
  enter_all_ways(200);
  change_in_turns(far, 150);
  // The page's translations go, its code stays as it is, and threads are in it.
  uint32_t number = 200;
  pthread_t threads[3];
  for (int k = 0; k < 3; ++k) CHECK(pthread_create(&threads[k], NULL, enter, &number) == 0);
  for (int round = 0; round < 100; ++round) {
    CHECK(mprotect(changes, kPage, PROT_READ | PROT_EXEC | (round % 2 ? 0 : PROT_WRITE)) == 0);
    enter_all_ways(number);
  }
  atomic_store(&stop, 1);
  for (int k = 0; k < 3; ++k) CHECK(pthread_join(threads[k], NULL) == 0);
  return finish();
}
