// movs, stos, lods, scas, cmps of every width, both directions, counts from 0 on, overlapping, with and without rep.
#include "tests/guest/guest.h"

enum { kBytes = 4096 };
static uint8_t buffer[kBytes], copy[kBytes];

static void refill(uint64_t seed) {
  for (int i = 0; i < kBytes; ++i) buffer[i] = copy[i] = (seed = mix(seed, i)) >> 32;
}

// The instruction's own semantics, element by element: overlapping moves repeat a pattern.
static void move_model(uint8_t* to, const uint8_t* from, uint64_t n, int width, int step) {
  for (uint64_t i = 0; i < n; ++i) {
    uint8_t element[8];
    memcpy(element, from + (int64_t)i * step, width);
    memcpy(to + (int64_t)i * step, element, width);
  }
}

#define MOVE(suffix, width)                                                                          \
  {                                                                                                  \
    uint64_t count = n;                                                                              \
    const int step = backward ? -width : width;                                                      \
    uint8_t *to = buffer + 2000 + delta, *from = buffer + 2000, *to0 = to, *from0 = from;            \
    if (backward)                                                                                    \
      asm volatile("std; rep movs" suffix "; cld" : "+D"(to), "+S"(from), "+c"(count) : : "memory"); \
    else                                                                                             \
      asm volatile("rep movs" suffix : "+D"(to), "+S"(from), "+c"(count) : : "memory");              \
    move_model(copy + 2000 + delta, copy + 2000, n, width, step);                                    \
    CHECK(memcmp(buffer, copy, kBytes) == 0);                                                        \
    CHECK_EQUAL(count, 0);                                                                           \
    CHECK_EQUAL(to - to0, (int64_t)n * step);                                                        \
    CHECK_EQUAL(from - from0, (int64_t)n * step);                                                    \
  }

static void moves(void) {
  for (int backward = 0; backward < 2; ++backward)
    for (uint64_t n = 0; n < 70; n = n < 9 ? n + 1 : n + 13)
      for (int delta = -40; delta <= 40; delta += delta > -10 && delta < 10 ? 1 : 7) {
        refill(n * 100 + delta);
        MOVE("b", 1) MOVE("w", 2) MOVE("l", 4) MOVE("q", 8)
      }
}

static void fills(void) {
  for (uint64_t n = 0; n < 40; ++n) {
    refill(n);
    uint8_t* to = buffer + 100;
    uint64_t count = n;
    asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(0x5a) : "memory");
    memset(copy + 100, 0x5a, n);
    CHECK(memcmp(buffer, copy, kBytes) == 0 && count == 0 && to == buffer + 100 + n);
    to = buffer + 1000, count = n;
    asm volatile("std; rep stosq; cld" : "+D"(to), "+c"(count) : "a"(0x1122334455667788) : "memory");
    for (uint64_t i = 0; i < n; ++i) memcpy(copy + 1000 - 8 * i, &(uint64_t){0x1122334455667788}, 8);
    CHECK(memcmp(buffer, copy, kBytes) == 0 && to == buffer + 1000 - 8 * n);
  }
}

static void scans(void) {
  for (uint64_t length = 0; length < 50; ++length) {
    memset(buffer, 'x', kBytes);
    buffer[length] = 0;
    uint8_t* at = buffer;
    uint64_t count = 100, equal;
    asm volatile("repne scasb; sete %b2; movzbl %b2, %k2"
                 : "+D"(at), "+c"(count), "=q"(equal)
                 : "a"(0)
                 : "cc", "memory");
    CHECK(at == buffer + length + 1 && count == 99 - length && equal == 1);
    at = buffer, count = length;
    asm volatile("test %%eax, %%eax; repe scasb; sete %b2; movzbl %b2, %k2"
                 : "+D"(at), "+c"(count), "=q"(equal)
                 : "a"('x')
                 : "cc", "memory");
    CHECK(at == buffer + length && count == 0 && equal == (length != 0));
    memcpy(copy, buffer, kBytes);
    copy[length] = 1;
    const uint8_t *a = buffer, *b = copy;
    uint64_t below;
    count = 80;
    asm volatile("repe cmpsb; setb %b3; movzbl %b3, %k3"
                 : "+S"(a), "+D"(b), "+c"(count), "=q"(below)
                 :
                 : "cc", "memory");
    CHECK(a == buffer + length + 1 && b == copy + length + 1 && count == 79 - length && below == 1);
    a = buffer + 400, b = copy + 400, count = 100;
    asm volatile("std; repe cmpsl; cld" : "+S"(a), "+D"(b), "+c"(count) : : "cc", "memory");
    CHECK(count == 99 - (400 - length / 4 * 4) / 4 || count == 0);
  }
}

static void single_steps(void) {
  refill(3);
  const uint8_t* from = buffer;
  uint8_t* to = buffer + 2048;
  uint64_t sum = 0, expected = 0, value = 0;
  for (int i = 0; i < 100; ++i) {
    asm volatile("lodsb" : "+S"(from), "+a"(value) : : "memory");
    asm volatile("stosw" : "+D"(to) : "a"(value) : "memory");
    asm volatile("movsq" : "+S"(from), "+D"(to) : : "memory");
    sum += value;
  }
  for (int i = 0; i < 100; ++i) expected += buffer[9 * i];
  CHECK_EQUAL(sum, expected);
  CHECK(from == buffer + 900 && to == buffer + 2048 + 1000);
  uint64_t count = 5, last = 0;
  from = buffer;
  asm volatile("rep lodsq" : "+S"(from), "+c"(count), "+a"(last) : : "memory");
  CHECK(memcmp(&last, buffer + 32, 8) == 0 && from == buffer + 40);
  count = 3;  // address-size prefix: ecx counts and the upper half of rcx must not
  count |= 0;
  to = buffer;
  asm volatile("rep stosl" : "+D"(to), "+c"(count) : "a"(0x01020304) : "memory");
  CHECK(buffer[11] == 1 && to == buffer + 12);
}

int main(void) {
  moves();
  fills();
  scans();
  single_steps();
  return finish();
}
