// build: -static -no-pie
// A static program with the C library: stdio, malloc, qsort, strings. The library chooses its functions for the
// processor that it sees, which is another one under Valgrind: both run with GLIBC_TUNABLES that leave only the
// plainest. Start code and the first malloc differ all the same (caches asked from the processor, no vDSO, another
// heap): what is compared is a run of two rounds minus a run of one. The heap and the stack lie elsewhere under
// Valgrind, and string functions look at alignment and at the distance to the end of the page. The line begins a page,
// so that its place on the stack, moved by the length of the environment, counts for nothing.
// lackey: subtract=1 tolerance=1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

static unsigned long work(void) {
  int* numbers = malloc(2000 * sizeof *numbers);
  for (int i = 0; i < 2000; ++i) numbers[i] = i * 7919 % 2003;
  qsort(numbers, 2000, sizeof *numbers, compare);
  static _Alignas(4096) char line[200];
  unsigned long sum = 0;
  for (int i = 0; i < 300; ++i) {
    snprintf(line, sizeof line, "%d %s %.3f", numbers[i], "text", i / 3.0);
    sum += strlen(line) + (unsigned char)line[strcspn(line, ".")];
    char* copy = strdup(line);
    sum += strcmp(copy, line) == 0;
    free(copy);
  }
  free(numbers);
  return sum;
}

int main(int argc, char** argv) {
  unsigned long sum = 0;
  for (int rounds = argc > 1 ? atoi(argv[1]) : 1; rounds; --rounds) sum += work();
  return sum == 0;
}
