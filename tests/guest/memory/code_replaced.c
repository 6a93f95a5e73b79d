// New code where other code was, which reads at once what the old code overwrote unread: flags, rcx and r11 are as they were, however the
// change is made (in place, or in memory that is not writable meanwhile) and however control comes (called, returned to, fallen into).
#include <sys/mman.h>

#include "tests/guest/guest.h"

static uint8_t* code;

static void put(int at, const char* bytes, int size, int toggled) {
  if (toggled) CHECK(mprotect(code, 4096, PROT_READ | PROT_WRITE) == 0);
  memcpy(code + at, bytes, (size_t)size);
  if (toggled) CHECK(mprotect(code, 4096, PROT_READ | PROT_EXEC) == 0);
}

static uint64_t call(int at, uint64_t rcx, uint64_t r11, int carry) {
  uint64_t result;
  register uint64_t in_r11 asm("r11") = r11;
  asm volatile(
      "xor %%eax, %%eax\n\t"
      "bt $0, %[carry]\n\t"
      "call *%[target]"
      : "=&a"(result), "+c"(rcx), "+r"(in_r11)
      : [target] "r"(code + at), [carry] "r"(carry)
      : "rdx", "memory", "cc");
  return result;
}

static void replace(int toggled) {
  // old: xor ecx,ecx; xor r11d,r11d; lea eax,[rcx+r11+1]; ret           flags, rcx, r11 overwritten
  static const char kOld[] = "\x31\xc9\x45\x31\xdb\x42\x8d\x44\x19\x01\xc3";
  // new: setc al; movzx eax,al; lea rax,[rax+rcx*2]; add rax,r11; ret   all three read
  static const char kNew[] = "\x0f\x92\xc0\x0f\xb6\xc0\x48\x8d\x04\x48\x4c\x01\xd8\xc3";
  for (int round = 0; round < 20; ++round) {
    const int at = 64 * (round % 3);
    put(at, kOld, sizeof kOld - 1, toggled);
    CHECK_EQUAL(call(at, 100, 1000, 1), 1);
    CHECK_EQUAL(call(at, 100, 1000, 0), 1);
    put(at, kNew, sizeof kNew - 1, toggled);
    CHECK_EQUAL(call(at, 100 + (unsigned)round, 1000, 1), 1201 + 2 * round);
    CHECK_EQUAL(call(at, 100, 1000 + (unsigned)round, 0), 1200 + round);
  }
}

// A jump to replaced code by a direct jump, with the carry set just before: stc; jmp +0x40 ... there: sub edx,edx; mov eax,2; ret, then
// setc al; movzx eax,al; ret.
static void fall_into(int toggled) {
  static const char kFrom[] = "\xf9\xeb\x3d";
  static const char kOld[] = "\x29\xd2\xb8\x02\x00\x00\x00\xc3";
  static const char kNew[] = "\x0f\x92\xc0\x0f\xb6\xc0\x04\x03\xc3";
  for (int round = 0; round < 20; ++round) {
    put(512, kFrom, sizeof kFrom - 1, toggled);
    put(576, kOld, sizeof kOld - 1, toggled);
    CHECK_EQUAL(call(512, 0, 0, 0), 2);
    CHECK_EQUAL(call(512, 0, 0, 0), 2);
    put(576, kNew, sizeof kNew - 1, toggled);
    CHECK_EQUAL(call(512, 0, 0, 0), 4);
  }
}

int main(void) {
  code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != MAP_FAILED);
  for (int toggled = 0; toggled < 2; ++toggled) {
    replace(toggled);
    fall_into(toggled);
  }
  return finish();
}
