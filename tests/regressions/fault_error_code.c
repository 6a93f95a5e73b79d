// The frame of a fault says what kind of fault it was: error code and trap number, as garbage collectors and checkers read them.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

static volatile char* page;
static volatile long long error, trap;

static void handler(int number, siginfo_t* info, void* context) {
  ucontext_t* u = context;
  (void)number, (void)info;
  error = u->uc_mcontext.gregs[REG_ERR];
  trap = u->uc_mcontext.gregs[REG_TRAPNO];
  mprotect((void*)page, 4096, PROT_READ | PROT_WRITE);
  if (number == SIGILL) u->uc_mcontext.gregs[REG_RIP] += 2;
  if (number == SIGSEGV && info->si_code == SI_KERNEL) u->uc_mcontext.gregs[REG_RAX] = (long long)page;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGILL, &action, NULL);
  page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)*page;
  CHECK_EQUAL(error, 4);    // user, read, not present
  CHECK_EQUAL(trap, 14);
  mprotect((void*)page, 4096, PROT_READ);
  *page = 1;
  CHECK_EQUAL(error & 7, 7);    // user, write, protection
  CHECK_EQUAL(trap, 14);
  asm volatile("mov (%%rax), %%cl" : : "a"(0x8000000000000000ull) : "rcx", "memory");
  CHECK_EQUAL(trap, 13);
  CHECK_EQUAL(error, 0);
  asm volatile("ud2");
  CHECK_EQUAL(trap, 6);
  return finish();
}
