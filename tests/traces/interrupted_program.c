/* Signals where traces have to tell what was interrupted. Prints the addresses of a conditional branch and of the instruction behind it, which
   faults ARGUMENT times: the branch is never taken. Then a read is interrupted as often, and made again each time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static char* page;
static int pipe_ends[2];
static volatile int left;

extern char never_taken[], behind_it[];

static void faulted(int number) {
  (void)number;
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

__attribute__((noinline)) static void store(char* to) {
  __asm__ volatile(
      "test %0, %0\n"
      ".globl never_taken, behind_it\n"
      "never_taken: jz 1f\n"
      "behind_it: movb $1, (%0)\n"
      "1:" ::"r"(to)
      : "cc", "memory");
}

static void interrupted(int number) {
  (void)number;
  if (--left == 0 && write(pipe_ends[1], "x", 1) != 1) abort();
}

/* Only while it waits in its call. */
static void* interrupt(void* who) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", *(int*)who);
  for (int had = left + 1; left != 0;) {
    FILE* const file = fopen(path, "r");
    long number = -1, descriptor = -1;
    const int got = fscanf(file, "%ld %lx", &number, &descriptor);
    fclose(file);
    if (got != 2 || number != SYS_read || descriptor != pipe_ends[0] || left == had) continue;
    had = left;
    kill(getpid(), SIGUSR1);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int times = argc > 1 ? atoi(argv[1]) : 1;
  printf("%p %p\n", (void*)never_taken, (void*)behind_it);
  fflush(stdout);
  signal(SIGSEGV, faulted);
  page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int k = 0; k < times; ++k) {
    mprotect(page, 4096, PROT_NONE);
    store(page);
  }

  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = interrupted;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, NULL);
  left = times;
  if (pipe(pipe_ends) != 0) return 1;
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, NULL);
  int tid = gettid();
  pthread_t thread;
  pthread_create(&thread, NULL, interrupt, &tid);
  pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
  char got;
  const int bytes = (int)read(pipe_ends[0], &got, 1);
  pthread_join(thread, NULL);
  return bytes != 1;
}
