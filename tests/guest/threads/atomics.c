// build: -pthread
// Eight threads on the same words: locked increments of every width, xadd, xchg, cmpxchg loops, cmpxchg16b, bit
// operations.
#include <pthread.h>
#include <stdatomic.h>

#include "tests/guest/guest.h"

enum { kThreads = 8, kRounds = 3000 };
static struct {
  uint8_t byte;
  uint16_t half;
  uint32_t word;
  uint64_t quad, added, swapped, bits[4], taken;
  atomic_flag lock;
  long guarded;
} shared;
static union {
  __int128 both;
  uint64_t half[2];
} pair;

static void increment_pair(void) {
  uint64_t low = pair.half[0], high = pair.half[1], new_low, new_high;
  uint8_t done;
  do {
    new_low = low + 1;
    new_high = high + 3;
    asm volatile("lock cmpxchg16b %[pair]; setz %[done]"
                 : [pair] "+m"(pair.both), "+a"(low), "+d"(high), [done] "=q"(done)
                 : "b"(new_low), "c"(new_high)
                 : "cc", "memory");
  } while (!done);
}

static void* work(void* id) {
  const uint64_t me = (uint64_t)id;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < kRounds; ++i) {
    asm volatile("lock incb %0; lock incw %1; lock incl %2; lock incq %3"
                 : "+m"(shared.byte), "+m"(shared.half), "+m"(shared.word), "+m"(shared.quad)
                 :
                 : "cc");
    sum += __atomic_fetch_add(&shared.added, 1, __ATOMIC_SEQ_CST);
    increment_pair();
    uint64_t mine = i << 8 | me;
    asm volatile("xchg %0, %1" : "+r"(mine), "+m"(shared.swapped));
    CHECK((mine & 0xff) < kThreads);
    uint64_t old = __atomic_load_n(&shared.taken, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&shared.taken, &old, old + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    uint8_t was;
    asm volatile("lock btsq %2, %1; setc %0" : "=q"(was), "+m"(shared.bits) : "r"(me * 17 + 3) : "cc", "memory");
    CHECK_EQUAL(was, 0);
    asm volatile("lock btrq %2, %1; setc %0" : "=q"(was), "+m"(shared.bits) : "r"(me * 17 + 3) : "cc", "memory");
    CHECK_EQUAL(was, 1);
    while (atomic_flag_test_and_set(&shared.lock)) sched_yield();
    ++shared.guarded;
    atomic_flag_clear(&shared.lock);
  }
  return (void*)sum;
}

int main(void) {
  pthread_t threads[kThreads];
  uint64_t total = 0;
  for (uint64_t i = 0; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, work, (void*)i) == 0);
  for (uint64_t i = 0; i < kThreads; ++i) {
    void* sum;
    CHECK(pthread_join(threads[i], &sum) == 0);
    total += (uint64_t)sum;
  }
  const uint64_t all = (uint64_t)kThreads * kRounds;
  CHECK_EQUAL(shared.byte, (uint8_t)all);
  CHECK_EQUAL(shared.half, (uint16_t)all);
  CHECK_EQUAL(shared.word, all);
  CHECK_EQUAL(shared.quad, all);
  CHECK_EQUAL(shared.added, all);
  CHECK_EQUAL(shared.taken, all);
  CHECK_EQUAL(shared.guarded, all);
  CHECK_EQUAL(total, all * (all - 1) / 2);
  CHECK(pair.half[0] == all && pair.half[1] == 3 * all);
  for (int i = 0; i < 4; ++i) CHECK_EQUAL(shared.bits[i], 0);
  return finish();
}
