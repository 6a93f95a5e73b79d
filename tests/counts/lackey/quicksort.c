// build: -ffreestanding -fno-stack-protector -fno-tree-loop-distribute-patterns -nostdlib -static -no-pie
// Sorting, a matrix product, recursion, calls through pointers, a hash table: no string instructions, no locks. lackey
// must agree exactly.
static unsigned long seed = 1;
static int numbers[3000], chain[256], next[3000];
static double a[40][40], b[40][40], c[40][40];

static unsigned random_number(void) {
  seed = seed * 6364136223846793005ul + 1442695040888963407ul;
  return (unsigned)(seed >> 33);
}

static void sort(int* first, int* last) {
  if (last - first < 2) return;
  int *low = first, *high = last - 1;
  const int pivot = first[(last - first) / 2];
  while (low <= high) {
    while (*low < pivot) ++low;
    while (*high > pivot) --high;
    if (low <= high) {
      const int t = *low;
      *low++ = *high;
      *high-- = t;
    }
  }
  sort(first, high + 1);
  sort(low, last);
}

__attribute__((noinline)) static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) static long twice(long x) { return 2 * x; }
__attribute__((noinline)) static long thrice(long x) { return 3 * x; }
static long (*const functions[2])(long) = {twice, thrice};

__attribute__((used)) void start(void) {
  for (int i = 0; i < 3000; ++i) numbers[i] = (int)random_number();
  sort(numbers, numbers + 3000);
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 40; ++j) a[i][j] = i + j, b[i][j] = i - j;
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 40; ++j)
      for (int k = 0; k < 40; ++k) c[i][j] += a[i][k] * b[k][j];
  for (int i = 0; i < 3000; ++i) {
    next[i] = chain[numbers[i] & 255];
    chain[numbers[i] & 255] = i;
  }
  long sum = fib(18);
  for (int i = 0; i < 3000; ++i) sum = functions[random_number() & 1](sum) + next[i];
  asm volatile("syscall" : : "a"(231), "D"(sum == 12345 || c[3][4] == 1e300));
}
asm(".globl _start; _start: and $-16, %rsp; call start; ud2");
