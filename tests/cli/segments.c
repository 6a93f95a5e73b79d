// segments WHAT: what is not followed where the kernel has no FSGSBASE, and what is.
#include <asm/prctl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t area[8] = {7, 8, 9};
static sigjmp_buf back;
static void caught(int number) { siglongjmp(back, number); }

int main(int count, char** words) {
  const char* const what = count > 1 ? words[1] : "";
  uint64_t value = 0;
  if (syscall(SYS_arch_prctl, ARCH_SET_GS, area) != 0) return 3;
  if (strcmp(what, "selector") == 0) {
    asm volatile("mov %0, %%gs" : : "r"((uint16_t)0x2b));
  } else if (strcmp(what, "refused") == 0) {   // by the processor: there is no such descriptor
    signal(SIGSEGV, caught);
    const int number = sigsetjmp(back, 1);
    if (number == 0) asm volatile("mov %0, %%gs" : : "r"((uint16_t)0x192c));
    printf("signal %d\n", number);
  } else if (strcmp(what, "string") == 0) {
    asm volatile("lodsq %%gs:(%%rsi)" : "=a"(value) : "S"(8ull) : "memory");
    printf("%d\n", (int)value);
  } else if (strcmp(what, "null") == 0) {
    uint16_t selector = 1;
    asm volatile("mov %1, %%gs\n mov %%gs, %0\n push %1\n pop %%gs" : "=r"(selector) : "r"((uint64_t)0));
    syscall(SYS_arch_prctl, ARCH_GET_GS, &value);
    printf("%d %s\n", selector, value == 0 || value == (uintptr_t)area ? "base" : "no base");
  } else if (strcmp(what, "memory") == 0) {
    struct {
      uint32_t offset;
      uint16_t selector;
    } __attribute__((packed)) far = {5, 0};
    asm volatile("mov %1, %%gs\n lgsl %2, %k0" : "=r"(value) : "m"(far.selector), "m"(far));
    printf("%d\n", (int)value);
  } else if (strcmp(what, "nowhere") == 0) {
    signal(SIGSEGV, caught);
    const int number = sigsetjmp(back, 1);
    if (number == 0) asm volatile("lgsl (%1), %k0" : "=r"(value) : "r"(0ull));
    printf("signal %d\n", number);
  } else if (strcmp(what, "instruction") == 0) {
    signal(SIGILL, caught);
    const int number = sigsetjmp(back, 1);
    if (number == 0) asm volatile("rdfsbase %0" : "=r"(value));
    printf("signal %d\n", number);
  } else if (strcmp(what, "operand") == 0) {
    asm volatile("mov %%gs:16, %0" : "=r"(value) : : "memory");
    printf("%d\n", (int)value);
  }
  return 0;
}
