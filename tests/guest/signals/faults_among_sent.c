// build: -pthread
// Real faults of a program to which another process sends the same signals: each fault is seen once, whatever else comes; and threads that
// begin and end meanwhile.
#include <pthread.h>
#include <ucontext.h>

#include "tests/guest/guest.h"
#include "tests/guest/signal_sender.h"

static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
enum { kNumbers = sizeof numbers / sizeof *numbers };

static volatile int sent, divisions, undefined, reads;

static void handler(int number, siginfo_t* info, void* context) {
  ucontext_t* const u = context;
  greg_t* const rip = &u->uc_mcontext.gregs[REG_RIP];
  if (info->si_code <= 0) {
    CHECK_EQUAL(info->si_code, SI_USER);
    ++sent;
  } else if (number == SIGFPE) {
    CHECK_EQUAL(info->si_code, FPE_INTDIV);
    ++divisions;
    *rip += 2;   // div ecx
  } else if (number == SIGILL) {
    CHECK(info->si_addr == (void*)*rip);
    ++undefined;
    *rip += 2;   // ud2
  } else {
    CHECK(number == SIGSEGV && info->si_addr == (void*)8);
    ++reads;
    *rip += 2;   // mov eax, [rcx]
  }
}

static void* nothing(void* unused) { return unused; }

int main(void) {
  for (int k = 0; k < kNumbers; ++k) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    CHECK(sigaction(numbers[k], &action, NULL) == 0);
  }
  const struct SignalSender sender = start_sender(numbers, kNumbers);
  for (int round = 1; round <= 300; ++round) {
    ++*sender.steps;
    __asm__ volatile("xor %%ecx, %%ecx; xor %%edx, %%edx; div %%ecx" : : "a"(1) : "rcx", "rdx", "cc");
    ++*sender.steps;
    __asm__ volatile("ud2" : : : "memory");
    ++*sender.steps;
    __asm__ volatile("mov $8, %%ecx; mov (%%rcx), %%eax" : : : "rax", "rcx", "memory");
    CHECK(divisions == round && undefined == round && reads == round);
    if (round % 8 != 0) continue;
    pthread_t thread;
    ++*sender.steps;
    CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0);
    ++*sender.steps;
    CHECK(pthread_join(thread, NULL) == 0);
  }
  while (sent == 0) ++*sender.steps;
  end_sender(&sender);
  sigset_t set;
  CHECK(sigprocmask(SIG_BLOCK, NULL, &set) == 0);
  for (int k = 0; k < kNumbers; ++k) CHECK(sigismember(&set, numbers[k]) == 0);
  return finish();
}
