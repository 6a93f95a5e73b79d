// build: -pthread
// A supervisor answers system calls of another thread through a listener.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/guest/guest.h"

static volatile int listener = -1;
static pthread_barrier_t ready;

static void* supervised(void* argument) {
  struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {4, filter};
  listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  pthread_barrier_wait(&ready);
  if (listener < 0) return NULL;
  CHECK_EQUAL(syscall(SYS_getpgid, 12345), 54321);
  CHECK(syscall(SYS_getpgid, 1) == -1 && errno == 99);
  CHECK_EQUAL(syscall(SYS_getpgid, 0), getpgrp());
  return argument;
}

static void answer(uint64_t first, int64_t value, int error, unsigned flags) {
  struct seccomp_notif request;
  memset(&request, 0, sizeof request);
  while (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) CHECK(errno == EINTR);
  CHECK_EQUAL(request.data.nr, SYS_getpgid);
  CHECK_EQUAL(request.data.args[0], first);
  struct seccomp_notif_resp response = {.id = request.id, .val = value, .error = error, .flags = flags};
  CHECK(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0);
}

int main(void) {
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  pthread_barrier_init(&ready, NULL, 2);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, supervised, &ready) == 0);
  pthread_barrier_wait(&ready);
  if (listener < 0) {
    puts("SKIPPED: no seccomp listeners");
    return 0;
  }
  answer(12345, 54321, 0, 0);
  answer(1, 0, -99, 0);
  answer(0, 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
  void* result;
  pthread_join(thread, &result);
  CHECK(result == &ready);
  return finish();
}
