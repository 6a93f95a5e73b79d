// build: -z execstack
// Code on the stack, below where it ended at the start: it grows without a system call. And a stack that is made executable as the loader
// does it for a library, by one page of it and PROT_GROWSDOWN.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

__attribute__((noinline)) static int call(int number) {
  unsigned char code[16] = {0xb8, (unsigned char)number, 0, 0, 0, 0xc3};   // mov eax, number; ret
  __asm__ volatile("" : : "r"(code) : "memory");
  return ((int (*)(void))code)();
}

__attribute__((noinline)) static int call_deeper(size_t bytes, int number) {
  char room[bytes];
  memset(room, 1, bytes);
  __asm__ volatile("" : : "r"(room) : "memory");
  return call(number);
}

static void call_all(void) {
  static const size_t kDepths[] = {16, 20000, 200000, 1200000, 400000, 4000000, 100};
  for (int k = 0; k < 7; ++k) CHECK_EQUAL(call_deeper(kDepths[k], k), k);
}

static int protect(int protection) {
  return mprotect((void*)((uintptr_t)__builtin_frame_address(0) & -4096ul), 4096, protection | PROT_GROWSDOWN);
}

static int status_of(void (*acts)(void)) {
  const pid_t child = fork();
  if (child == 0) {
    acts();
    _exit(7);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

static void call_protected(void) {
  CHECK(protect(PROT_READ | PROT_WRITE) == 0);
  call_deeper(1000000, 1);
}

static void call_again(void) {
  CHECK(protect(PROT_READ | PROT_WRITE) == 0 && protect(PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
  call_all();
}

int main(void) {
  call_all();
  const int status = status_of(call_protected);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  CHECK_EQUAL(WEXITSTATUS(status_of(call_again)), 7);
  return finish();
}
