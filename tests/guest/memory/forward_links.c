// Code that is replaced while older code still jumps forwards to it: the jump must reach what stands there now. Three pages: one that
// stays, one that is replaced, one that can be executed only later.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/guest/guest.h"

typedef int (*Function)(int);
enum { kPage = 4096 };
static sigjmp_buf before;

static void on_fault(int number) {
  (void)number;
  siglongjmp(before, 1);
}

// mov n, %eax ; ret
static void emit_value(uint8_t* at, int n) {
  at[0] = 0xb8;
  memcpy(at + 1, &n, 4);
  at[5] = 0xc3;
}

// jmp to
static void emit_jump(uint8_t* at, const uint8_t* to) {
  const int32_t distance = (int32_t)(to - (at + 5));
  at[0] = 0xe9;
  memcpy(at + 1, &distance, 4);
}

// test %edi, %edi ; jnz to ; xor %eax, %eax ; ret
static void emit_test(uint8_t* at, const uint8_t* to) {
  const int32_t distance = (int32_t)(to - (at + 8));
  memcpy(at, "\x85\xff\x0f\x85", 4);
  memcpy(at + 4, &distance, 4);
  memcpy(at + 8, "\x31\xc0\xc3", 3);
}

static void protect(uint8_t* page, int protection) { CHECK(mprotect(page, kPage, protection) == 0); }

int main(void) {
  uint8_t* const stays = mmap(NULL, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(stays != MAP_FAILED);
  uint8_t *const changes = stays + kPage, *const late = changes + kPage;
  const Function call = (Function)stays;
  emit_test(stays, changes);
  protect(stays, PROT_READ | PROT_EXEC);
  for (int round = 0; round < 40; ++round) {
    emit_value(changes, round);
    protect(changes, PROT_READ | PROT_EXEC);
    for (int k = 0; k < 3; ++k) CHECK_EQUAL(call(1), round);
    CHECK_EQUAL(call(0), 0);
    protect(changes, PROT_READ | PROT_WRITE);
  }
  puts("replaced behind a jump"), fflush(stdout);
  // What is replaced is a single jump, whose target is reached only when it has been.
  struct sigaction action = {.sa_handler = on_fault};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  emit_jump(changes, late);
  protect(changes, PROT_READ | PROT_EXEC);
  emit_value(late, 9);
  protect(late, PROT_NONE);
  if (sigsetjmp(before, 1) == 0) {
    call(1);
    CHECK(0);
  }
  protect(changes, PROT_READ | PROT_WRITE);
  emit_value(changes, 7);
  protect(changes, PROT_READ | PROT_EXEC);
  protect(late, PROT_READ | PROT_EXEC);
  CHECK_EQUAL(((Function)late)(0), 9);
  for (int k = 0; k < 3; ++k) CHECK_EQUAL(call(1), 7);
  puts("a jump replaced"), fflush(stdout);
  return finish();
}
