// build: -pthread
// Code that nobody has seen before, again and again: each of a round's functions has a constant of its own. Some of their
// blocks are cut short by a fault. Arguments: functions, threads that do the same beside the first one, and with any of these one
// that sleeps all the time and one that makes others and comes back from system calls all the time. Prints what the functions have added up.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kFunctions = 64, kBytes = 32, kPage = 4096 };
typedef void Function(uint64_t* sum, const uint64_t* guarded);

static int g_functions;
static volatile int g_over;
static __thread char* t_guarded;

static void let_through(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  if ((char*)info->si_addr != t_guarded || mprotect(t_guarded, kPage, PROT_READ) != 0) _exit(3);
}

// mov eax, n; add [rdi], rax; mov rcx, [rsi]; test al, 1; jz 1f; inc qword [rdi]; 1: ret
static void write_function(char* at, uint32_t n) {
  static const unsigned char kRest[] = {0x48, 0x01, 0x07, 0x48, 0x8b, 0x0e, 0xa8, 0x01, 0x74, 0x03, 0x48, 0xff, 0x07, 0xc3};
  at[0] = (char)0xb8;
  memcpy(at + 1, &n, 4);
  memcpy(at + 5, kRest, sizeof kRest);
}

static char* pages(size_t bytes) {
  char* at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) _exit(2);
  return at;
}

static void* work(void* argument) {
  const uint32_t number = (uint32_t)(uintptr_t)argument;
  uint64_t sum = 0;
  char* const code = pages(kPage);
  t_guarded = pages(kPage);
  for (int made = 0; made < g_functions; made += kFunctions) {
    if (mprotect(code, kPage, PROT_READ | PROT_WRITE) != 0) _exit(2);
    for (int k = 0; k < kFunctions; ++k) write_function(code + k * kBytes, number << 24 | (uint32_t)(made + k));
    if (mprotect(code, kPage, PROT_READ | PROT_EXEC) != 0 || mprotect(t_guarded, kPage, PROT_NONE) != 0) _exit(2);
    for (int k = 0; k < kFunctions; ++k) ((Function*)(code + k * kBytes))(&sum, (const uint64_t*)t_guarded);
  }
  return (void*)(uintptr_t)sum;
}

static void* sleep_on(void* pipe) {
  char byte;
  return read(*(int*)pipe, &byte, 1) == 0 ? NULL : pipe;
}

static void* nap(void* unused) {
  nanosleep(&(struct timespec){0, 50000}, NULL);
  return unused;
}

static void* come_and_go(void* unused) {
  while (!g_over) {
    pthread_t other;
    if (pthread_create(&other, NULL, nap, unused) != 0) _exit(2);
    nap(unused);
    pthread_join(other, NULL);
  }
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  g_functions = atoi(argv[1]);
  const int threads = atoi(argv[2]);
  struct sigaction action = {.sa_sigaction = let_through, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  pthread_t workers[16], sleeper, comer;
  int ends[2];
  if (threads > 16 || pipe(ends) != 0) return 2;
  if (threads != 0) {
    pthread_create(&sleeper, NULL, sleep_on, &ends[0]);
    pthread_create(&comer, NULL, come_and_go, NULL);
  }
  for (int k = 0; k < threads; ++k) pthread_create(&workers[k], NULL, work, (void*)(uintptr_t)(k + 1));
  printf("%lu\n", (unsigned long)(uintptr_t)work(NULL));
  for (int k = 0; k < threads; ++k) {
    void* sum;
    pthread_join(workers[k], &sum);
    printf("%lu\n", (unsigned long)(uintptr_t)sum);
  }
  g_over = 1;
  close(ends[1]);
  if (threads != 0) pthread_join(sleeper, NULL), pthread_join(comer, NULL);
  return 0;
}
