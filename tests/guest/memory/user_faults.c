// build: -pthread
// userfaultfd: a page of data, then a page of code that another thread brings when it is first touched.
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/guest.h"

static int faults;
static char source[4096] __attribute__((aligned(4096)));

static int bring(void* page) {
  struct uffdio_copy copy = {.dst = (unsigned long)page, .src = (unsigned long)source, .len = 4096};
  return ioctl(faults, UFFDIO_COPY, &copy);
}

static void wait_for_fault(void) {
  struct pollfd ready = {faults, POLLIN, 0};
  while (poll(&ready, 1, -1) < 0) continue;
}

static void* read_byte(void* at) { return (void*)(long)*(volatile char*)at; }

static long answered(void* (*start)(void*), void* page) {
  pthread_t thread;
  void* result = NULL;
  CHECK_EQUAL(pthread_create(&thread, NULL, start, page), 0);
  wait_for_fault();
  struct uffd_msg message;
  while (read(faults, &message, sizeof message) != sizeof message) continue;
  CHECK_EQUAL(message.event, UFFD_EVENT_PAGEFAULT);
  CHECK_EQUAL(message.arg.pagefault.address & ~4095ul, (unsigned long)page);
  CHECK_EQUAL(bring(page), 0);
  pthread_join(thread, &result);
  return (long)result;
}

// A signal to who waits for a page: its handler runs meanwhile, and the wait goes on.
static volatile int handled;
static char* waited_for;

static void handler(int signal) {
  (void)signal;
  handled = 1;
}

static void* add_bytes(void* at) {
  long sum = 0;
  for (int k = 0; k < 3; ++k) sum += ((volatile char*)at)[k];   // the first waits
  return (void*)sum;
}

static void interrupted(void) {
  pthread_t thread;
  void* result = NULL;
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGUSR1, &action, NULL);
  CHECK_EQUAL(pthread_create(&thread, NULL, add_bytes, waited_for), 0);
  wait_for_fault();
  CHECK_EQUAL(pthread_kill(thread, SIGUSR1), 0);
  for (int k = 0; k < 20000 && !handled; ++k) usleep(1000);
  CHECK_EQUAL(handled, 1);
  source[0] = 1, source[1] = 2, source[2] = 4;
  // It may have asked twice.
  struct uffd_msg message;
  while (read(faults, &message, sizeof message) == sizeof message) continue;
  CHECK_EQUAL(bring(waited_for), 0);
  pthread_join(thread, &result);
  CHECK_EQUAL((long)result, 7);
}

// While one waits, who is to bring the page changes code that has been translated.
static void code_changes_meanwhile(char* page) {
  unsigned char* const code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t thread;
  void* result = NULL;
  CHECK_EQUAL(pthread_create(&thread, NULL, add_bytes, page), 0);
  wait_for_fault();
  for (int k = 0; k < 5; ++k) {
    CHECK_EQUAL(mprotect(code, 4096, PROT_READ | PROT_WRITE), 0);
    memcpy(code, (unsigned char[]){0xb8, (unsigned char)k, 0, 0, 0, 0xc3}, 6);   // mov eax, k; ret
    CHECK_EQUAL(mprotect(code, 4096, PROT_READ | PROT_EXEC), 0);
    CHECK_EQUAL(((int (*)(void))code)(), k);
  }
  struct uffd_msg message;
  while (read(faults, &message, sizeof message) == sizeof message) continue;
  CHECK_EQUAL(bring(page), 0);
  pthread_join(thread, &result);
  CHECK_EQUAL((long)result, 7);
}

// Pages that mlockall brings in are asked for, too.
static void* lock_all(void* page) {
  (void)page;
  return (void*)(long)mlockall(MCL_CURRENT);
}

// Who gets it has his forks wait until somebody has read of them. Who does not, without privileges or under simrun, hears so.
static void ask_for_forks(void) {
  const int other = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
  struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_EVENT_FORK};
  CHECK(other < 0 || ioctl(other, UFFDIO_API, &api) == 0 || (errno == EPERM && api.api == 0 && api.features == 0));
  close(other);
}

int main(void) {
  faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
  struct uffdio_api api = {.api = UFFD_API};
  if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0) {
    puts("SKIPPED: no userfaultfd");
    return 0;
  }
  ask_for_forks();
  char* pages = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct uffdio_register range = {.range = {(unsigned long)pages, 5 * 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
  CHECK_EQUAL(ioctl(faults, UFFDIO_REGISTER, &range), 0);
  source[0] = 33;
  CHECK_EQUAL(answered(read_byte, pages), 33);
  static const unsigned char code[] = {0xb8, 44, 0, 0, 0, 0xc3};   // mov eax, 44; ret
  memcpy(source, code, sizeof code);
  CHECK_EQUAL(answered((void* (*)(void*))(pages + 4096), pages + 4096), 44);
  waited_for = pages + 8192;
  interrupted();
  code_changes_meanwhile(pages + 3 * 4096);
  CHECK_EQUAL(answered(lock_all, pages + 4 * 4096), 0);
  return finish();
}
