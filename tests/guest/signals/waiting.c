// build: -pthread
// Signals taken without a handler: sigwaitinfo, sigtimedwait, signalfd; a handler of one thread woken by another;
// SIGCHLD with its data.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static volatile pid_t child_pid;
static volatile int child_status, child_calls;

static void child_ended(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  ++child_calls;
  child_pid = info->si_pid;
  child_status = info->si_status;
}

static void* waits(void* set) {
  int signal;
  CHECK(sigwait(set, &signal) == 0);
  return (void*)(intptr_t)signal;
}

int main(void) {
  sigset_t set, chld;
  siginfo_t info;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGRTMIN + 1);
  CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  for (int i = 0; i < 50; ++i) {
    CHECK(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i}) == 0);
    CHECK(sigwaitinfo(&set, &info) == SIGRTMIN + 1 && info.si_value.sival_int == i);
    struct timespec now = {0, 0};
    CHECK(sigtimedwait(&set, &info, &now) == -1 && errno == EAGAIN);
    pthread_t thread;
    void* got;
    CHECK(pthread_create(&thread, NULL, waits, &set) == 0 && pthread_kill(thread, SIGUSR1) == 0);
    CHECK(pthread_join(thread, &got) == 0 && (intptr_t)got == SIGUSR1);
  }
  const int fd = signalfd(-1, &set, SFD_NONBLOCK);
  struct signalfd_siginfo read_info;
  CHECK(fd >= 0 && read(fd, &read_info, sizeof read_info) == -1 && errno == EAGAIN);
  raise(SIGUSR1);
  CHECK(read(fd, &read_info, sizeof read_info) == sizeof read_info && read_info.ssi_signo == SIGUSR1);
  struct sigaction action = {.sa_sigaction = child_ended, .sa_flags = SA_SIGINFO | SA_RESTART};
  CHECK(sigaction(SIGCHLD, &action, NULL) == 0);
  sigemptyset(&chld);
  sigaddset(&chld, SIGCHLD);
  for (int i = 0; i < 10; ++i) {
    sigset_t old;
    sigprocmask(SIG_BLOCK, &chld, &old);
    const int before = child_calls;
    const pid_t pid = fork();
    if (pid == 0) _exit(20 + i);
    while (child_calls == before) sigsuspend(&old);
    sigprocmask(SIG_SETMASK, &old, NULL);
    int status;
    CHECK(child_pid == pid && child_status == 20 + i);
    CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 20 + i);
  }
  return finish();
}
