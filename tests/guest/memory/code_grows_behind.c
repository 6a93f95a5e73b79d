// Code that ends with its page: it is executed once where nothing can be executed behind it, and once where something can. What faults in it
// afterwards is still the instruction that it was.
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

enum { kPage = 4096 };
static uint8_t* g_code;
static sigjmp_buf g_back;
static int g_grown;

// mov (%rdi), %eax ; nop ...: into the page behind
static uint8_t* begin(void) { return g_code + kPage - 8; }

static void on_fault(int number, siginfo_t* info, void* context) {
  (void)number;
  const ucontext_t* u = context;
  if (info->si_addr == g_code + kPage) {
    CHECK_EQUAL(u->uc_mcontext.gregs[REG_RIP], (uintptr_t)g_code + kPage);
    CHECK(mprotect(g_code + kPage, kPage, PROT_READ | PROT_EXEC) == 0);
    ++g_grown;
    return;
  }
  CHECK(info->si_addr == (void*)16);
  CHECK_EQUAL(u->uc_mcontext.gregs[REG_RIP], (uintptr_t)begin());
  siglongjmp(g_back, 1);
}

static int call(const int* from) { return ((int (*)(const int*))(uintptr_t)begin())(from); }

int main(void) {
  g_code = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(g_code != MAP_FAILED);
  memset(g_code, 0x90, 2 * kPage);
  memcpy(begin(), (const uint8_t[]){0x8b, 0x07}, 2);
  g_code[kPage + 4] = 0xc3;
  CHECK(mprotect(g_code, kPage, PROT_READ | PROT_EXEC) == 0);
  CHECK(mprotect(g_code + kPage, kPage, PROT_READ) == 0);
  struct sigaction action = {.sa_sigaction = &on_fault, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  const int value = 42;
  CHECK_EQUAL(call(&value), 42);
  CHECK_EQUAL(g_grown, 1);
  CHECK_EQUAL(call(&value), 42);
  if (sigsetjmp(g_back, 1) == 0) {
    call((const int*)16);
    CHECK(!"read");
  }
  CHECK_EQUAL(call(&value), 42);
  return finish();
}
