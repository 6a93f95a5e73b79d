// build: -pthread
// int3 traps once each time, with other signals coming all the time from another thread.
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

static volatile int traps, others, done;
extern char after_int3[];

static void on_trap(int number, siginfo_t* info, void* context) {
  (void)number;
  const uint64_t pc = (uint64_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  CHECK_EQUAL(pc, (uint64_t)after_int3);
  CHECK_EQUAL(info->si_code, SI_KERNEL);
  ++traps;
}
static void on_usr1(int number) { others += number != 0; }

static void* send(void* thread) {
  while (!done) pthread_kill(*(pthread_t*)thread, SIGUSR1);
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  struct sigaction usr1 = {.sa_handler = on_usr1};
  sigaction(SIGUSR1, &usr1, NULL);
  pthread_t self = pthread_self(), sender;
  pthread_create(&sender, NULL, send, &self);
  while (others == 0) continue;
  for (int k = 0; k < 2000; ++k) {
    asm volatile(".globl after_int3\n int3\n after_int3: nop\n" : : : "memory");
    CHECK_EQUAL(traps, k + 1);
  }
  done = 1;
  pthread_join(sender, NULL);
  return finish();
}
