// cpuid, rdtsc, rdtscp, xgetbv, rdpid, rdrand: the same answers, time that goes forward, and only the named registers
// change.
#include <cpuid.h>

#include "tests/guest/guest.h"

int main(void) {
  uint64_t hash = 1;
  unsigned a, b, c, d, features = 0;
  __cpuid(0, a, b, c, d);
  const unsigned most = a;
  for (unsigned leaf = 0; leaf <= most; ++leaf) {
    __cpuid_count(leaf, 0, a, b, c, d);
    if (leaf == 1) b &= 0xffffff, features = c;  // the initial APIC id differs from core to core
    if (leaf == 0xb || leaf == 0xd || leaf == 0x1f) continue;
    hash = mix(mix(mix(mix(hash, a), b), c), d);
  }
  printf("%u leaves, %016llx\n", most, (unsigned long long)hash);
  uint64_t last = 0, keep = 0;
  for (int i = 0; i < 1000; ++i) {
    uint64_t low, high;
    asm volatile("mov $0x1234, %%ebx; mov $0x5678, %%ecx; rdtsc; lea (%%rbx,%%rcx), %[keep]"
                 : "=a"(low), "=d"(high), [keep] "=&r"(keep)
                 :
                 : "rbx", "rcx");
    CHECK_EQUAL(keep, 0x1234 + 0x5678);
    const uint64_t now = high << 32 | low;
    CHECK(now > last && low >> 32 == 0);
    last = now;
  }
  if (features >> 30 & 1) {
    uint64_t random = 0;
    unsigned char done;
    int tries = 0;
    do asm volatile("rdrand %0; setc %1" : "=r"(random), "=qm"(done) : : "cc");
    while (!done && ++tries < 100);
    CHECK(done);
  }
  return finish();
}
