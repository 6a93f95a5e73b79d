// build: -pthread
// Protection keys and signals: a handler begins with the default rights, whatever the interrupted code had; rt_sigreturn brings that code's back;
// they lie in the frame, where a handler may change them; the kernel writes frames to stacks of any key.
#include <cpuid.h>
#include <pthread.h>
#include <signal.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "tests/guest/guest.h"

static unsigned rights(void) {
  unsigned low;
  __asm__ volatile("rdpkru" : "=a"(low) : "c"(0) : "rdx");
  return low;
}
static void set_rights(unsigned value) { __asm__ volatile("wrpkru" : : "a"(value), "c"(0), "d"(0) : "memory"); }

static volatile unsigned seen, to_leave;
static unsigned in_frame;
static volatile int has_bit, change_frame, escapes;
static sigjmp_buf escape;

static void* rights_of_frame(ucontext_t* u) {
  unsigned a, offset, c, d;
  __cpuid_count(0xd, 9, a, offset, c, d);
  return (char*)u->uc_mcontext.fpregs + offset;
}

static void handler(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  seen = rights();
  ucontext_t* const u = context;
  const char* const image = (char*)u->uc_mcontext.fpregs;
  unsigned long present;
  memcpy(&present, image + 512, sizeof present);
  has_bit = present >> 9 & 1;
  memcpy(&in_frame, rights_of_frame(u), 4);
  if (change_frame) {
    const unsigned left = to_leave;
    memcpy(rights_of_frame(u), &left, 4);
    present |= 1 << 9;
    memcpy((char*)image + 512, &present, sizeof present);
  } else {
    set_rights(to_leave);
  }
  if (escapes) siglongjmp(escape, 1);
}

static void on(int number, int flags) {
  struct sigaction action = {0};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  CHECK(sigaction(number, &action, NULL) == 0);
}

static void layout(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  const char* const image = (char*)((ucontext_t*)context)->uc_mcontext.fpregs;
  unsigned words[12];
  memcpy(words, image + 464, sizeof words);
  // magic, extended size, components, size of the image
  printf("%x %u %x %x %u\n", words[0], words[1], words[2], words[3], words[4]);
}

static void* of_thread(void* unused) {
  CHECK_EQUAL(rights(), 0x55555550u);   // from its maker
  set_rights(0x55555500);
  raise(SIGUSR1);
  CHECK_EQUAL(rights(), 0x55555500u);
  return unused;
}

int main(void) {
  unsigned a, b, c = 0, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(c >> 4 & 1)) {
    printf("SKIPPED: no protection keys\n");
    return 0;
  }
  struct sigaction show = {0};
  show.sa_sigaction = layout;
  show.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR2, &show, NULL);
  raise(SIGUSR2);

  const unsigned initial = rights();
  const int key = pkey_alloc(0, 0);
  CHECK_EQUAL(key, 1);
  on(SIGUSR1, 0);
  to_leave = 0x55555500;
  CHECK_EQUAL(rights(), 0x55555550u);
  raise(SIGUSR1);
  CHECK_EQUAL(seen, initial);
  CHECK_EQUAL(in_frame, 0x55555550u);
  CHECK_EQUAL(has_bit, 1);
  CHECK_EQUAL(rights(), 0x55555550u);   // not what the handler left

  change_frame = 1;
  raise(SIGUSR1);
  CHECK_EQUAL(rights(), 0x55555500u);
  set_rights(0x55555550);
  change_frame = 0;

  set_rights(0);
  raise(SIGUSR1);
  CHECK_EQUAL(seen, initial);
  CHECK_EQUAL(rights(), 0u);

  pthread_t thread;
  set_rights(0x55555550);
  CHECK(pthread_create(&thread, NULL, of_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
  CHECK_EQUAL(rights(), 0x55555550u);
  const pid_t child = fork();
  if (child == 0) _exit(rights() == 0x55555550 ? 7 : 8);
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 7 << 8);

  // A fault at a page whose key is closed: the handler opens it in the frame.
  char* const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pkey_mprotect(page, 4096, PROT_READ | PROT_WRITE, key) == 0);
  on(SIGSEGV, 0);
  set_rights(initial);
  change_frame = 1;
  to_leave = 0x55555550;
  *(volatile char*)page = 5;
  CHECK_EQUAL(seen, initial);
  CHECK_EQUAL(rights(), 0x55555550u);
  CHECK_EQUAL(*page, 5);
  change_frame = 0;

  // Out of a handler by a jump: its rights stay.
  escapes = 1;
  to_leave = 0x55555540;
  if (sigsetjmp(escape, 1) == 0) raise(SIGUSR1);
  CHECK_EQUAL(rights(), 0x55555540u);
  escapes = 0;
  set_rights(0x55555550);

  // An alternate stack with a key that the interrupted code has closed, but the default rights too: the frame is written, the handler faults.
  char* const stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const stack_t alternate = {stack, 0, 65536};
  CHECK(sigaltstack(&alternate, NULL) == 0);
  CHECK(pkey_mprotect(stack, 65536, PROT_READ | PROT_WRITE, key) == 0);
  on(SIGUSR1, SA_ONSTACK);
  fflush(stdout);
  const pid_t other = fork();
  if (other == 0) {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGUSR1);
    _exit(9);
  }
  CHECK(waitpid(other, &status, 0) == other);
  printf("status %x\n", status & 0x7f);
  return finish();
}
