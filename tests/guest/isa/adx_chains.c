// Two carry chains at once, in CF and OF (adcx, adox), over block borders that keep both.
#include <cpuid.h>

#include "tests/guest/guest.h"

int main(void) {
  unsigned a, b = 0, c, d;
  skip_unless(__get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 19 & 1), "adx");
  for (int round = 0; round < 1000; ++round) {
    uint64_t x = -(uint64_t)(round & 1), y = round, low = ~0ull, n = 9, sum1 = 0, sum2 = 0;
    asm volatile("xor %%eax, %%eax; 1: adcx %[low], %[x]; adox %[low], %[y]; jmp 2f; .byte 0x0f, 0x0b; 2:"
                 "mov $0, %%eax; adcx %%rax, %[sum1]; mov $0, %%eax; adox %%rax, %[sum2]; lea -1(%[n]), %[n];"
                 "xchg %[n], %%rcx; jrcxz 3f; xchg %[n], %%rcx; jmp 1b; 3: xchg %[n], %%rcx"
                 : [x] "+&r"(x), [y] "+&r"(y), [n] "+&r"(n), [sum1] "+&r"(sum1), [sum2] "+&r"(sum2)
                 : [low] "r"(low) : "rax", "rcx", "cc");
    uint64_t ex = -(uint64_t)(round & 1), ey = round, e1 = 0, e2 = 0;
    int carry = 0, overflow = 0;
    for (int i = 0; i < 9; ++i) {
      unsigned __int128 s = (unsigned __int128)ex + low + carry;
      ex = s, carry = s >> 64;
      s = (unsigned __int128)ey + low + overflow;
      ey = s, overflow = s >> 64;
      e1 += carry, carry = 0;
      e2 += overflow, overflow = 0;
    }
    CHECK_EQUAL(x, ex);
    CHECK_EQUAL(y, ey);
    CHECK_EQUAL(sum1, e1);
    CHECK_EQUAL(sum2, e2);
  }
  return finish();
}
