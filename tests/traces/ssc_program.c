/* A program with the marks that other simulators use, as their manuals give them; with an argument a child does the work. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define __SSC_MARK(tag) __asm__ __volatile__("movl %0, %%ebx; .byte 0x64, 0x67, 0x90 " ::"i"(tag) : "%ebx")

static volatile double table[1000];

static void smooth(int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (int k = 1; k < 999; ++k) table[k] = (table[k - 1] + table[k + 1] + k) / 3;
}

static void work(void) {
  smooth(20);
  __SSC_MARK(0x111);
  smooth(10);
  __SSC_MARK(0x222);
  smooth(20);
}

int main(int argc, char** argv) {
  (void)argv;
  if (argc == 1) {
    work();
  } else if (fork() == 0) {
    work();
    _exit(0);
  } else {
    smooth(20);
    wait(NULL);
  }
  printf("%.6f\n", table[500]);
  return 0;
}
