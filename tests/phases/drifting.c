// A thread that works in two phases and now and then says how far it has come: the more often, the later the run of those that note themselves in
// the file "runs". So counts of what is executed for that differ from run to run, as when it goes by time.
#include <pthread.h>
#include <stdio.h>

static volatile long table[1 << 20], progress[64];
static int runs;

__attribute__((noinline)) static void say(void) {
  for (int k = 0; k < 100; ++k) progress[k & 63] += k;
}

static void* work(void* unused) {
  unsigned long at = 1;
  for (int step = 0; step < 6000; ++step) {
    const unsigned long mask = step / 1000 % 2 == 0 ? 1023 : (1 << 20) - 1;
    for (int k = 0; k < 400; ++k) table[(at = at * 6364136223846793005ul + 1442695040888963407ul) >> 40 & mask] += k;
    if (step % 8 == 0)
      for (int k = 0; k <= runs; ++k) say();
  }
  return unused;
}

int main(void) {
  FILE* file = fopen("runs", "r");
  if (file != NULL && fscanf(file, "%d", &runs) == 1) fclose(file);
  file = fopen("runs", "w");
  fprintf(file, "%d\n", runs + 1);
  fclose(file);
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
  return pthread_join(thread, NULL);
}
