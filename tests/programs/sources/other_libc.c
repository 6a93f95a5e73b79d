// Threads and a caught fault under another C library.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static sigjmp_buf back;

static void handler(int number) { siglongjmp(back, number); }

static void* work(void* argument) {
  long sum = 0;
  for (int i = 0; i < 100000; i++) sum += i ^ (long)argument;
  return (void*)sum;
}

int main(void) {
  pthread_t threads[8];
  long sum = 0;
  for (long i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 8; i++) {
    void* one;
    pthread_join(threads[i], &one);
    sum += (long)one;
  }
  printf("%ld\n", sum);
  signal(SIGSEGV, handler);
  if (sigsetjmp(back, 1) == 0)
    *(volatile int*)0 = 1;
  else
    puts("caught");
  return 9;
}
