/* Two files are at one address by turns, and a child has both: two lines of the model with one address of the process. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile char* at(int file, volatile char* where) {
  return mmap((void*)where, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | (where ? MAP_FIXED : 0), file, 0);
}

int main(void) {
  const int a = memfd_create("a", 0), b = memfd_create("b", 0);
  if (ftruncate(a, 4096) != 0 || ftruncate(b, 4096) != 0) return 1;
  volatile char* const here = at(a, 0);
  int go[2];
  if (pipe(go) != 0) return 1;
  if (fork() == 0) {
    char byte;
    volatile char* const of_a = at(a, 0);
    volatile char* const of_b = at(b, 0);
    const int known = read(go[0], &byte, 1) == 1;  /* the parent was first, so its address is the lines' */
    return known ? of_a[0] + of_b[0] : 1;
  }
  for (int i = 0; i < 30; ++i) {
    at(b, here)[50] += 1;
    __builtin_ia32_clflush((void*)here);
    if (i % 3 != 0) continue;
    at(a, here)[5] += 1;
    __builtin_ia32_clflush((void*)here);
  }
  return write(go[1], "", 1) == 1 ? (wait(0), 0) : 1;
}
