// What every guest program includes: a check that ends the program, and the last line of a good run.
#pragma once

#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

// Uses _exit: a guest checks in signal handlers and in children too.
#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      dprintf(2, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, #condition);    \
      _exit(1);                                                                   \
    }                                                                             \
  } while (0)

#define CHECK_EQUAL(actual, expected)                                                                          \
  do {                                                                                                         \
    const unsigned long long a_ = (unsigned long long)(actual), e_ = (unsigned long long)(expected);           \
    if (a_ != e_) {                                                                                            \
      dprintf(2, "%s:%d: %s is %#llx, expected %#llx\n", __FILE__, __LINE__, #actual, a_, e_);                 \
      _exit(1);                                                                                                \
    }                                                                                                          \
  } while (0)

// The processor lacks what the guest is about: the runner reports the guest as skipped.
static inline void skip_unless(int available, const char* what) {
  if (available) return;
  printf("SKIPPED: no %s\n", what);
  exit(0);
}

// Kernels without it: those before Linux 5.9, and those of virtual machines that keep their kernel in user mode (PVM), where a hypervisor imitates
// much of what the kernel and the processor do at traps, but for details that some guests are about.
static inline int has_fsgsbase(void) { return (getauxval(AT_HWCAP2) & 2) != 0; }
static inline void skip_if_imitated(void) { skip_unless(has_fsgsbase(), "kernel whose traps are surely the processor's"); }

// The engine does what is undefined, or differs, as the processors of AMD do.
static inline int is_intel(void) {
  unsigned a, b = 0, c, d;
  __get_cpuid(0, &a, &b, &c, &d);
  return b == 0x756e6547;   // "Genu"ineIntel
}

static inline int finish(void) {
  puts("EXIT-SUCCESS");
  fflush(stdout);
  return 0;
}

// The signals that the thread blocks: bit number - 1.
static inline uint64_t mask_now(void) {
  uint64_t mask = 0;
  sigset_t set;
  CHECK(sigprocmask(SIG_BLOCK, NULL, &set) == 0);
  for (int k = 1; k <= 64; ++k) mask |= (uint64_t)(sigismember(&set, k) == 1) << (k - 1);
  return mask;
}

static inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdull;
}
