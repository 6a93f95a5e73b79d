// build: -pthread
// prctl(PR_SET_TSC): rdtsc and rdtscp raise SIGSEGV, in this thread and those that it starts; nothing else does.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>

#include "tests/guest/guest.h"

static sigjmp_buf back;
static siginfo_t seen;

static void handler(int number, siginfo_t* info, void* context) {
  (void)number;
  (void)context;
  seen = *info;
  siglongjmp(back, 1);
}

static int refused(int with_processor) {
  if (sigsetjmp(back, 1) != 0) {
    CHECK_EQUAL(seen.si_code, SI_KERNEL);
    CHECK_EQUAL((long)seen.si_addr, 0);
    return 1;
  }
  unsigned low, high, processor;
  if (with_processor)
    asm volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(processor));
  else
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return 0;
}

static void* in_thread(void* expected) {
  CHECK_EQUAL(refused(0), *(int*)expected);
  CHECK_EQUAL(refused(1), *(int*)expected);
  return NULL;
}

static void in_new_thread(int expected) {
  pthread_t thread;
  CHECK_EQUAL(pthread_create(&thread, NULL, in_thread, &expected), 0);
  pthread_join(thread, NULL);
}

static unsigned long stamp(void) { return __builtin_ia32_rdtsc(); }

int main(void) {
  skip_if_imitated();
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  int mode = 0;
  CHECK_EQUAL(prctl(PR_GET_TSC, &mode), 0);
  CHECK_EQUAL(mode, PR_TSC_ENABLE);
  CHECK_EQUAL(refused(0) + refused(1), 0);
  CHECK_EQUAL(prctl(PR_SET_TSC, PR_TSC_SIGSEGV), 0);
  CHECK_EQUAL(refused(0) + refused(1), 2);
  in_new_thread(1);
  CHECK_EQUAL(prctl(PR_GET_TSC, &mode), 0);
  CHECK_EQUAL(mode, PR_TSC_SIGSEGV);
  CHECK_EQUAL(prctl(PR_SET_TSC, 3), -1);
  CHECK_EQUAL(prctl(PR_SET_TSC, PR_TSC_ENABLE), 0);
  CHECK_EQUAL(refused(0) + refused(1), 0);
  in_new_thread(0);
  const unsigned long before = stamp();
  CHECK(stamp() > before);
  return finish();
}
