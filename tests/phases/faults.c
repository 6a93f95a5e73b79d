/* Thousands of faults that a handler repairs: paths that are cut, in many of which an interval ends. */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

static volatile char* page;

static void repair(int number) {
  (void)number;
  mprotect((void*)page, 4096, PROT_READ | PROT_WRITE);
}

int main(void) {
  page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  signal(SIGSEGV, repair);
  for (int i = 0; i < 2000; ++i) {
    for (volatile int k = 0; k < i % 13; ++k) continue;
    unsigned at = (unsigned)i * 2654435761u;   // instructions of one block, behind which the fault comes
    at ^= at >> 13, at *= 2246822519u, at ^= at >> 16, at *= 3266489917u, at ^= at >> 15;
    page[at & 4095] += 1;
    mprotect((void*)page, 4096, PROT_NONE);
  }
  puts("done");
}
