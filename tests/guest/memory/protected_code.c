// build: -pthread
// What an engine may do so that code is not compared, taking the write permission of its page, must not be met by the program: faults whose signal
// is blocked, seals, memory that is mapped anew, frames of signals.
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"
#include "tests/guest/written_code.h"

static volatile int g_handled;
static void on_signal(int number) { g_handled += number; }

static int is_blocked(int number) {
  sigset_t now;
  CHECK(sigprocmask(SIG_SETMASK, NULL, &now) == 0);
  return sigismember(&now, number);
}

static uint8_t* g_hot;
static void write_in_handler(int number) {
  CHECK(is_blocked(SIGSEGV));
  emit(g_hot, number);
  CHECK_EQUAL(call(g_hot, 1), 1 + number);
}

static int g_mask_had_it;
static void look_at_mask(int number, siginfo_t* info, void* context) {
  (void)info;
  g_handled = number;
  g_mask_had_it = sigismember(&((ucontext_t*)context)->uc_sigmask, SIGSEGV);
}

static void* write_with_all_blocked(void* argument) {
  (void)argument;
  CHECK(is_blocked(SIGSEGV));
  emit(g_hot, 4);
  CHECK_EQUAL(call(g_hot, 1), 5);
  run_often(g_hot, 4);
  emit(g_hot, 5);
  return NULL;
}

// A store where SIGSEGV is blocked, whose fault would end the process; one that is sent meanwhile waits; the program's own does end it.
static void blocked_faults(void) {
  g_hot = pages(1);
  const sigset_t all = all_signals();
  sigset_t before, waiting, segv;
  sigemptyset(&segv);
  sigaddset(&segv, SIGSEGV);
  emit(g_hot, 1);
  run_often(g_hot, 1);
  CHECK(sigprocmask(SIG_SETMASK, &all, &before) == 0);
  for (int n = 2; n < 6; ++n) {
    emit(g_hot, n);
    CHECK_EQUAL(call(g_hot, 1), 1 + n);
    run_often(g_hot, n);
  }
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, &write_with_all_blocked, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_EQUAL(call(g_hot, 1), 6);

  struct sigaction handled = {.sa_handler = &on_signal}, old;
  CHECK(sigaction(SIGSEGV, &handled, &old) == 0);
  g_handled = 0;
  for (int way = 0; way < 2; ++way) {
    const pid_t child = fork();   // sends it at any time
    if (child == 0) {
      for (int k = 0; k < 20; ++k) kill(getppid(), SIGSEGV), usleep(100);
      _exit(0);
    }
    for (int k = 0; k < 20; ++k) emit(g_hot, k), run_often(g_hot, k);
    wait_for(child);
    CHECK_EQUAL(g_handled, 0);
    CHECK(sigpending(&waiting) == 0 && sigismember(&waiting, SIGSEGV));
    if (way == 0) CHECK_EQUAL(sigwaitinfo(&segv, NULL), SIGSEGV);
  }
  CHECK(is_blocked(SIGSEGV));
  CHECK(sigprocmask(SIG_UNBLOCK, &segv, NULL) == 0);
  CHECK_EQUAL(g_handled, SIGSEGV);
  CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
  CHECK(sigaction(SIGSEGV, &old, NULL) == 0);

  struct sigaction writes = {.sa_handler = &write_in_handler, .sa_mask = all};
  CHECK(sigaction(SIGUSR1, &writes, NULL) == 0);
  for (int k = 0; k < 3; ++k) {
    emit(g_hot, 1);
    run_often(g_hot, 1);
    raise(SIGUSR1);
    CHECK(!is_blocked(SIGSEGV));
  }

  // The mask that a handler finds in its frame.
  struct sigaction looks = {.sa_sigaction = &look_at_mask, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGUSR2, &looks, NULL) == 0);
  CHECK(sigprocmask(SIG_BLOCK, &segv, NULL) == 0);
  g_handled = 0;
  const pid_t sender = fork();
  if (sender == 0) {
    usleep(2000);
    kill(getppid(), SIGUSR2);
    _exit(0);
  }
  for (uint64_t k = 0; g_handled == 0; ++k)
    if (k % 4096 == 0) emit(g_hot, 7), run_often(g_hot, 7);
  CHECK(g_mask_had_it);
  wait_for(sender);
  CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0);

  const pid_t doomed = fork();
  if (doomed == 0) {
    CHECK(sigaction(SIGSEGV, &handled, NULL) == 0);
    CHECK(sigprocmask(SIG_BLOCK, &segv, NULL) == 0);
    emit(g_hot, 8);
    run_often(g_hot, 8);
    emit(g_hot, 9);
    run_often(g_hot, 9);
    CHECK(mprotect(g_hot, kPage, PROT_READ) == 0);
    *g_hot = 1;
    _exit(1);
  }
  int status;
  CHECK(doomed > 0);
  while (waitpid(doomed, &status, 0) < 0) CHECK_EQUAL(errno, EINTR);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  munmap(g_hot, kPage);
}

static void* wait_for_fault(void* argument) {
  const sigset_t* wanted = argument;
  while (sigwaitinfo(wanted, NULL) < 0) CHECK_EQUAL(errno, EINTR);
  g_handled = SIGSEGV;
  return NULL;
}

// movl (%rsi), %eax ; testl %eax, %eax ; jnz 1f ; decq %rdi ; jnz 0b ; 1: movq %rdi, %rax ; ret
static const uint8_t kLookOften[] = {0x8b, 0x06, 0x85, 0xc0, 0x75, 0x05, 0x48, 0xff, 0xcf, 0x75, 0xf5, 0x48, 0x89, 0xf8, 0xc3};

// SIGSEGV to the process is for the thread that waits for it, while others block it in such code.
static void fault_of_another(void) {
  uint8_t* code = pages(1);
  memcpy(code, kLookOften, sizeof kLookOften);
  uint64_t (*look)(uint64_t, volatile int*) = (uint64_t(*)(uint64_t, volatile int*))(uintptr_t)code;
  sigset_t segv, before;
  sigemptyset(&segv);
  sigaddset(&segv, SIGSEGV);
  CHECK(sigprocmask(SIG_BLOCK, &segv, &before) == 0);
  for (int way = 0; way < 2; ++way) {
    pthread_t thread;
    g_handled = 0;
    CHECK(pthread_create(&thread, NULL, &wait_for_fault, &segv) == 0);
    CHECK_EQUAL(look(kOften, &g_handled), 0);
    const pid_t parent = getpid(), sender = fork();
    if (sender == 0) {
      usleep(20000);
      const union sigval value = {.sival_int = 3};
      _exit(way == 0 ? kill(parent, SIGSEGV) : sigqueue(parent, SIGSEGV, value));
    }
    CHECK(look(1ull << 40, &g_handled) != 0);
    CHECK(pthread_join(thread, NULL) == 0);
    wait_for(sender);
  }
  CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
  munmap(code, kPage);
}

static siginfo_t g_info;
static void keep_info(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  g_info = *info;
}

static uint8_t* g_look;
static void* look_until_told(void* argument) {
  uint64_t (*look)(uint64_t, volatile int*) = (uint64_t(*)(uint64_t, volatile int*))(uintptr_t)g_look;
  look(kOften, &g_handled);
  CHECK(look(1ull << 40, &g_handled) != 0);
  return argument;
}

// One to the process goes on waiting, as it was sent, though a thread is in such code that blocks it and is not the process's first, which alone
// may send what kill sends.
static void fault_that_waits(void) {
  g_look = pages(1);
  memcpy(g_look, kLookOften, sizeof kLookOften);
  sigset_t segv;
  sigemptyset(&segv);
  sigaddset(&segv, SIGSEGV);
  CHECK(sigprocmask(SIG_BLOCK, &segv, NULL) == 0);
  const struct sigaction kept = {.sa_sigaction = &keep_info, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(SIGSEGV, &kept, NULL) == 0);
  for (int way = 0; way < 4; ++way) {
    const pid_t child = fork();   // what is protected is given up behind the first
    if (child != 0) {
      wait_for(child);
      continue;
    }
    pthread_t thread;
    g_handled = 0;
    CHECK(pthread_create(&thread, NULL, &look_until_told, NULL) == 0);
    usleep(20000);
    const pid_t parent = getpid(), sender = fork();
    if (sender == 0) _exit(kill(parent, SIGSEGV));
    wait_for(sender);
    usleep(1000);
    const struct timespec patience = {20, 0};
    if (way < 2) CHECK_EQUAL(sigtimedwait(&segv, way == 0 ? &g_info : NULL, &patience), SIGSEGV);
    if (way == 2) {
      struct signalfd_siginfo read_info;
      CHECK_EQUAL(read(signalfd(-1, &segv, 0), &read_info, sizeof read_info), (long)sizeof read_info);
      g_info.si_signo = (int)read_info.ssi_signo, g_info.si_code = read_info.ssi_code, g_info.si_pid = (pid_t)read_info.ssi_pid;
    }
    if (way == 3) CHECK(sigprocmask(SIG_UNBLOCK, &segv, NULL) == 0);
    if (way != 1) CHECK(g_info.si_signo == SIGSEGV && g_info.si_code == SI_USER && g_info.si_pid == sender);
    g_handled = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    _exit(0);
  }
}

// Of two pages of hot code one cannot change its permission any more: the other can be written to all the same.
static void sealed(void) {
  enum { kMseal = 462 };   // Linux 6.10
  uint8_t* code = pages(2);
  if (syscall(kMseal, code + kPage, kPage, 0) != 0) return;
  for (int k = 0; k < 2; ++k) emit(code + k * kPage, k);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2 * kOften; ++i) CHECK_EQUAL(call(code + i % 2 * kPage, i), i + i % 2);
    for (int k = 0; k < 2; ++k) emit(code + k * kPage, k);
  }
}

// Sets of select that are larger than usual.
static void large_sets(void) {
  enum { kDescriptors = 4000 };
  uint8_t* code = pages(2);
  emit(code + kPage + 512, 1);
  run_often(code + kPage + 512, 1);
  int ends[2];
  CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
  uint64_t* set = (uint64_t*)(code + kPage - 256);   // 504 bytes
  set[ends[0] / 64] |= 1ull << (ends[0] % 64);
  const int descriptors = getdtablesize() < kDescriptors ? getdtablesize() : kDescriptors;
  CHECK_EQUAL(select(descriptors, (fd_set*)set, NULL, NULL, NULL), 1);
  close(ends[0]), close(ends[1]);
  munmap(code, 2 * kPage);
}

static int g_stop;

static void* run_hot(void* argument) {
  uint8_t* code = pages(1);
  emit(code, 1);
  for (int i = 0; !__atomic_load_n(&g_stop, __ATOMIC_ACQUIRE); ++i) CHECK_EQUAL(call(code, i), i + 1);
  munmap(code, kPage);
  return argument;
}

// While others execute code that may be protected now, memory with such code is mapped anew.
static void mapped_anew(void) {
  enum { kThreads = 4, kRounds = 300 };
  uint8_t* code = pages(2);
  pthread_t others[kThreads];
  g_stop = 0;
  for (int k = 0; k < kThreads; ++k) CHECK(pthread_create(&others[k], NULL, &run_hot, NULL) == 0);
  for (int n = 0; n < kRounds; ++n) {
    for (uint8_t* page = code; page < code + 2 * kPage; page += kPage) {
      CHECK(mmap(page, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page);
      emit(page, n);
      for (int i = 0; i < 20; ++i) CHECK_EQUAL(call(page, i), i + n);
    }
    for (volatile int wait = 0; wait < n * 50; ++wait) continue;
  }
  __atomic_store_n(&g_stop, 1, __ATOMIC_RELEASE);
  for (int k = 0; k < kThreads; ++k) CHECK(pthread_join(others[k], NULL) == 0);
  munmap(code, 2 * kPage);
}

static void* take_signals(void* argument) {
  enum { kStack = 16 * kPage, kRounds = 12 };
  for (int round = 0; round < kRounds; ++round) {
    uint8_t* stack = pages(kStack / kPage);
    uint8_t* code = stack + kStack - 1024;
    const stack_t there = {.ss_sp = stack, .ss_size = kStack - 1024}, none = {.ss_flags = SS_DISABLE};
    emit(code, round);
    CHECK(sigaltstack(&there, NULL) == 0);
    for (int k = 0; k < 4; ++k) {
      run_often(code, round);
      CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0);
    }
    CHECK(sigaltstack(&none, NULL) == 0);
    munmap(stack, kStack);
  }
  return argument;
}

static void ignore_signal(int number) { (void)number; }

// A call that might write anywhere, again and again.
static void* write_anywhere(void* argument) {
  while (!__atomic_load_n(&g_stop, __ATOMIC_ACQUIRE)) syscall(SYS_getpriority, 0, 0), sched_yield();
  return argument;
}

// A signal's frame beside code, which other threads' epochs may have protected at any time, and others' calls given back.
static void frames(void) {
  enum { kThreads = 6, kWriters = 2 };
  const struct sigaction action = {.sa_handler = &ignore_signal, .sa_flags = SA_ONSTACK};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  pthread_t others[kThreads], writers[kWriters];
  g_stop = 0;
  for (int k = 0; k < kThreads; ++k) CHECK(pthread_create(&others[k], NULL, &take_signals, NULL) == 0);
  for (int k = 0; k < kWriters; ++k) CHECK(pthread_create(&writers[k], NULL, &write_anywhere, NULL) == 0);
  for (int k = 0; k < kThreads; ++k) CHECK(pthread_join(others[k], NULL) == 0);
  __atomic_store_n(&g_stop, 1, __ATOMIC_RELEASE);
  for (int k = 0; k < kWriters; ++k) CHECK(pthread_join(writers[k], NULL) == 0);
}

// In a process of its own, which may end an engine's reliance for good.
static void apart(void (*test)(void)) {
  const pid_t child = fork();
  if (child == 0) {
    test();
    _exit(0);
  }
  wait_for(child);
}

int main(void) {
  large_sets();
  mapped_anew();
  frames();
  apart(&sealed);
  apart(&blocked_faults);
  apart(&fault_of_another);
  apart(&fault_that_waits);
  return finish();
}
