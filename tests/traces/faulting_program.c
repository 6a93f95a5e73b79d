/* Faults ARGUMENT times, every other time amid a string instruction; what it does then is the same each time. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kPage = 4096 };
static volatile long table[4096];

static void faulted(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  mprotect((void*)((uintptr_t)info->si_addr & ~(uintptr_t)(kPage - 1)), kPage, PROT_READ | PROT_WRITE);
}

__attribute__((noinline)) static void store(char* to) {
  table[1]++, table[2]++;
  *to = 1;
  table[3]++, table[4]--;
}

__attribute__((noinline)) static void fill(char* to, long bytes) {
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(1) : "memory");
}

int main(int argc, char** argv) {
  const long times = argc > 1 ? atol(argv[1]) : 10;
  const struct sigaction action = {.sa_sigaction = &faulted, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  char* pages = mmap(NULL, (size_t)(times + 2) * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (long k = 0; k < times; ++k) {
    if (k % 2 != 0)
      store(pages + k * kPage + 17);
    else
      fill(pages + k * kPage, kPage + k % 4 * 100);
    for (long i = 0; i < 50; ++i) table[(i * 64 + k * 8) & 4095] += i;
  }
  printf("%ld\n", table[64]);
  return 3;
}
