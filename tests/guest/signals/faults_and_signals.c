// build: -pthread
// Faults that a handler steps over, while another thread sends signals as fast as it can: neither is lost, none ends
// the program.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

static volatile long faults, signals;
static volatile int stop;
static pthread_t target;

static void step_over(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  ++faults;
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] += 3;
}

static void count(int signal) {
  (void)signal;
  ++signals;
}

static void* pester(void* x) {
  while (!stop) {
    pthread_kill(target, SIGUSR1);
    for (volatile int k = 0; k < 300; ++k) continue;
  }
  return x;
}

int main(void) {
  enum { kFaults = 3000 };
  target = pthread_self();
  struct sigaction action = {.sa_sigaction = step_over, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  struct sigaction counter = {.sa_handler = count, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGUSR1, &counter, NULL) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, pester, NULL) == 0);
  while (signals == 0) sched_yield();   // the other thread runs
  for (int k = 0; k < kFaults; ++k) {
    long nowhere = 0;
    __asm__ volatile(".byte 0x48, 0x8b, 0x00" : "+a"(nowhere) : : "memory");   // mov rax, [rax]
  }
  stop = 1;
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(faults == kFaults);
  finish();
}
