// build: -no-pie -fno-pie -mno-red-zone
// Far returns, interrupt returns, far jumps and calls within the 64-bit code segment; those that fault.
#include <signal.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "../guest.h"

static sigjmp_buf out;
static volatile uint64_t code, error;

static void on_fault(int number, siginfo_t* info, void* context) {
  const ucontext_t* u = context;
  code = (uint64_t)info->si_code;
  error = (uint64_t)u->uc_mcontext.gregs[REG_ERR];
  (void)number;
  siglongjmp(out, 1);
}

static uint64_t far_return(uint64_t selector) {
  uint64_t r;
  asm volatile("push %1\n lea 1f(%%rip), %0\n push %0\n mov $1, %k0\n lretq\n mov $2, %k0\n 1: add $10, %k0\n"
               : "=&a"(r) : "r"(selector) : "memory", "cc");
  return r;
}

static uint64_t far_return_releasing(void) {
  uint64_t before, after;
  asm volatile("mov %%rsp, %0\n push $7\n push $8\n push $0x33\n lea 1f(%%rip), %1\n push %1\n lretq $16\n 1: mov %%rsp, %1\n"
               : "=&r"(before), "=&r"(after) : : "memory", "cc");
  return after - before;
}

static uint64_t interrupt_return(uint64_t selector) {
  uint64_t r;
  asm volatile("mov %%rsp, %%rcx\n push $0x2b\n push %%rcx\n push $0x8d5\n push %1\n lea 1f(%%rip), %0\n push %0\n iretq\n ud2\n"
               "1: pushf\n pop %0\n cld\n" : "=&a"(r) : "r"(selector) : "rcx", "memory", "cc");
  return r & 0xcd5;
}

static uint64_t far_jump_and_call(void) {
  struct { uint32_t offset; uint16_t selector; } __attribute__((packed)) target;
  uint64_t r;
  // Offsets of 32 bits: the code must lie low (no PIE).
  asm volatile("movl $1f, (%1)\n movw $0x33, 4(%1)\n mov $1, %k0\n ljmp *(%1)\n mov $2, %k0\n"
               "1: movl $2f, (%1)\n lcall *(%1)\n add $100, %k0\n jmp 3f\n"
               "2: add $10, %k0\n lret\n 3:\n"
               : "=&a"(r) : "r"(&target) : "memory", "cc");
  return r;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
  CHECK_EQUAL(sigaction(SIGSEGV, &action, NULL), 0);
  for (int k = 0; k < 10; ++k) {
    CHECK_EQUAL(far_return(0x33), 11);
    CHECK_EQUAL(far_return_releasing(), 0);
    CHECK_EQUAL(interrupt_return(0x33), 0x8d5 & 0xcd5);
    CHECK_EQUAL(far_jump_and_call(), 111);
  }
  for (volatile uint64_t selector = 0; selector <= 0x100; selector += 0x80) {
    if (!sigsetjmp(out, 1)) far_return(selector);
    CHECK_EQUAL(code, SI_KERNEL);
    CHECK_EQUAL(error, selector);
    error = 1;
    if (!sigsetjmp(out, 1)) interrupt_return(selector);
    CHECK_EQUAL(error, selector);
  }
  // Where something is mapped that may not be touched, or nothing.
  char* pages = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (volatile int mapped = 1; mapped >= 0; --mapped) {
    code = 0;
    if (!sigsetjmp(out, 1)) asm volatile("ljmp *(%0)" : : "r"(pages) : "memory");
    CHECK_EQUAL(code, mapped ? SEGV_ACCERR : SEGV_MAPERR);
    CHECK_EQUAL(error, 4);
    munmap(pages, 8192);
  }
  return finish();
}
