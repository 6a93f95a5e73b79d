// build: -pthread -lrt
// timer_create in all its ways (a signal with its value, one thread's, a thread of its own, none), overruns; timerfd.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>

#include "tests/guest/guest.h"

static sem_t posted;
static volatile int calls;
static volatile siginfo_t last;
static volatile pid_t caller;

static void handler(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  last = *info;
  caller = syscall(SYS_gettid);
  ++calls;
}

static void notified(union sigval value) {
  __atomic_add_fetch(&calls, value.sival_int, __ATOMIC_RELAXED);
  sem_post(&posted);
}

static const struct itimerspec kSoon = {{0, 300000}, {0, 300000}}, kNever = {{0, 0}, {0, 0}};

static timer_t start(clockid_t clock, struct sigevent* event, const struct itimerspec* when) {
  timer_t timer = NULL;
  CHECK(timer_create(clock, event, &timer) == 0 && timer_settime(timer, 0, when, NULL) == 0);
  return timer;
}

static void by_signal(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigaction(SIGRTMIN + 2, &action, NULL);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 2, .sigev_value.sival_int = 77};
  const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
  for (unsigned k = 0; k < sizeof clocks / sizeof *clocks; ++k) {
    calls = 0;
    timer_t timer = start(clocks[k], &event, &kSoon);
    for (volatile long i = 0; calls < 4; ++i) continue;
    CHECK(timer_settime(timer, 0, &kNever, NULL) == 0);
    CHECK(last.si_code == SI_TIMER && last.si_value.sival_int == 77 && last.si_signo == SIGRTMIN + 2);
    struct itimerspec left;
    CHECK(timer_gettime(timer, &left) == 0 && left.it_value.tv_nsec == 0);
    CHECK(timer_delete(timer) == 0);
  }
  CHECK(timer_delete((timer_t)12345) == -1 && errno == EINVAL);
}

static void overruns(void) {
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 2);
  sigprocmask(SIG_BLOCK, &set, &old);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 2};
  timer_t timer = start(CLOCK_MONOTONIC, &event, &kSoon);
  struct timespec some = {0, 5000000};
  while (nanosleep(&some, &some) != 0) continue;   // other signals may come more often
  siginfo_t info;
  CHECK(sigwaitinfo(&set, &info) == SIGRTMIN + 2 && info.si_overrun > 3 && timer_getoverrun(timer) == info.si_overrun);
  timer_delete(timer);
  const struct timespec now = {0, 0};
  while (sigtimedwait(&set, &info, &now) > 0) continue;
  sigprocmask(SIG_SETMASK, &old, NULL);
}

static volatile pid_t target;
static volatile int enough;

static void* waits(void* unused) {
  target = syscall(SYS_gettid);
  while (!enough) continue;
  return unused;
}

static void of_one_thread(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, waits, NULL) == 0);
  while (target == 0) sched_yield();
  calls = 0;
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 2};
  event._sigev_un._tid = target;
  timer_t timer = start(CLOCK_MONOTONIC, &event, &kSoon);
  for (int seen = 0; seen < 5; seen = calls) {
    if (calls != 0) CHECK_EQUAL(caller, target);
    sched_yield();
  }
  timer_delete(timer);
  enough = 1;
  pthread_join(thread, NULL);
}

static void by_thread(void) {
  sem_init(&posted, 0, 0);
  calls = 0;
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notified, .sigev_value.sival_int = 10};
  timer_t timer = start(CLOCK_MONOTONIC, &event, &kSoon);
  for (int i = 0; i < 5; ++i)
    while (sem_wait(&posted) != 0) continue;
  CHECK(timer_delete(timer) == 0);
  CHECK(calls >= 50 && calls % 10 == 0);
}

static void by_descriptor(void) {
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  uint64_t times;
  CHECK(fd >= 0 && read(fd, &times, sizeof times) == -1 && errno == EAGAIN);
  CHECK(timerfd_settime(fd, 0, &kSoon, NULL) == 0);
  struct pollfd entry = {.fd = fd, .events = POLLIN};
  for (int i = 0; i < 5; ++i) {
    while (poll(&entry, 1, -1) != 1) continue;
    CHECK(read(fd, &times, sizeof times) == sizeof times && times >= 1);
  }
  close(fd);
  const int blocking = timerfd_create(CLOCK_REALTIME, 0);
  struct itimerspec past = {{0, 0}, {1, 0}};
  CHECK(timerfd_settime(blocking, TFD_TIMER_ABSTIME, &past, NULL) == 0);
  CHECK(read(blocking, &times, sizeof times) == sizeof times && times == 1);
  close(blocking);
}

int main(void) {
  by_signal();
  overruns();
  of_one_thread();
  by_thread();
  by_descriptor();
  return finish();
}
