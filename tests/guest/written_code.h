// Functions written by a guest into memory that stays writable and executable.
#pragma once

#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

typedef int (*Function)(int);
enum { kPage = 4096, kOften = 3000 };

// lea n(%rdi), %eax ; ret
static void emit(void* to, int n) {
  uint8_t code[7] = {0x8d, 0x87, 0, 0, 0, 0, 0xc3};
  memcpy(code + 2, &n, 4);
  memcpy(to, code, sizeof code);
}

static int call(const void* code, int n) { return ((Function)(uintptr_t)code)(n); }

static uint8_t* pages(int n) {
  uint8_t* p = mmap(NULL, (size_t)n * kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(p != MAP_FAILED);
  return p;
}

static void run_often(const void* code, int n) {
  for (int i = 0; i < kOften; ++i) CHECK_EQUAL(call(code, i), i + n);
}

static sigset_t all_signals(void) {
  sigset_t all;
  sigfillset(&all);
  return all;
}

static void wait_for(pid_t child) {
  int status;
  CHECK(child > 0);
  while (waitpid(child, &status, 0) < 0) CHECK_EQUAL(errno, EINTR);
  CHECK_EQUAL(status, 0);
}
