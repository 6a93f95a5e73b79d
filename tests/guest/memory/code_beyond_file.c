// Code in a mapping that reaches beyond the end of its file, which has become shorter: SIGBUS at the first byte that is not there, and not
// before it is needed: the last instruction in front of it runs.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "tests/guest/guest.h"

enum { kPage = 4096 };

static sigjmp_buf back;
static volatile int seen_code;
static void* volatile seen_address;

static void handler(int number, siginfo_t* info, void* context) {
  (void)context;
  CHECK(number == SIGBUS);
  seen_code = info->si_code;
  seen_address = info->si_addr;
  siglongjmp(back, 1);
}

// -1: SIGBUS
static int call(void* code) {
  seen_code = 0;
  return sigsetjmp(back, 1) == 0 ? ((int (*)(void))code)() : -1;
}

static void returns(uint8_t* at, int value) {   // mov eax, value; ret
  *at = 0xb8;
  memcpy(at + 1, &value, 4);
  at[5] = 0xc3;
}

static void check(int shared, int writable) {
  const int file = memfd_create("code", 0);
  CHECK(file >= 0 && ftruncate(file, 2 * kPage) == 0);
  uint8_t* in = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  uint8_t* code = mmap(NULL, 2 * kPage, PROT_READ | PROT_EXEC | (writable ? PROT_WRITE : 0), shared ? MAP_SHARED : MAP_PRIVATE, file, 0);
  CHECK(in != MAP_FAILED && code != MAP_FAILED);
  returns(in + kPage - 6, 5);    // the last instruction ends with the page
  returns(in + kPage - 16, 6);
  memset(in + kPage - 20, 0x90, 4);   // falls into the one at -16
  returns(in + kPage + 3, 7);
  if (writable) CHECK_EQUAL(call(code + kPage + 3), 7);
  CHECK_EQUAL(call(code + kPage - 6), 5);
  CHECK(ftruncate(file, kPage) == 0);
  for (int i = 0; i < 3; ++i) {
    CHECK(call(code + kPage + 64 + i) == -1 && seen_code == BUS_ADRERR && seen_address == code + kPage + 64 + i);
    CHECK_EQUAL(call(code + kPage - 6), 5);
    CHECK_EQUAL(call(code + kPage - 16), 6);
    CHECK_EQUAL(call(code + kPage - 20), 6);
  }
  memset(in + kPage - 3, 0x90, 3);   // nothing ends the code in front of the missing page
  CHECK(mprotect(code, kPage, PROT_NONE) == 0);
  CHECK(mprotect(code, kPage, PROT_READ | PROT_EXEC) == 0);
  CHECK(call(code + kPage - 3) == -1 && seen_code == BUS_ADRERR && seen_address == code + kPage);
  in[kPage - 1] = 0xb8;              // the instruction lies half in it
  CHECK(mprotect(code, kPage, PROT_NONE) == 0);
  CHECK(mprotect(code, kPage, PROT_READ | PROT_EXEC) == 0);
  CHECK(call(code + kPage - 1) == -1 && seen_code == BUS_ADRERR && seen_address == code + kPage);
  CHECK(ftruncate(file, 2 * kPage) == 0);
  returns(in + kPage, 9);
  CHECK(mprotect(code, 2 * kPage, PROT_READ | PROT_EXEC) == 0);
  CHECK_EQUAL(call(code + kPage), 9);
  munmap(code, 2 * kPage);
  munmap(in, 2 * kPage);
  close(file);
}

int main(void) {
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = handler;
  CHECK(sigaction(SIGBUS, &action, NULL) == 0);
  check(1, 0);
  check(0, 0);
  check(1, 1);
  return finish();
}
