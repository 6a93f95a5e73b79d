// A process that sends signals to the guest that makes it: one of each for every step of the guest's, so that it gets on however slow it is.
#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

struct SignalSender {
  pid_t pid;
  volatile int* steps;   // for the guest to count up
};

static inline struct SignalSender start_sender(const int* numbers, int count) {
  struct SignalSender sender;
  sender.steps = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(sender.steps != MAP_FAILED);
  const pid_t guest = getpid();
  sender.pid = fork();
  CHECK(sender.pid >= 0);
  if (sender.pid != 0) return sender;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int seen = 0; getppid() == guest;) {
    for (int k = 0; k < count; ++k) kill(guest, numbers[k]);
    while (*sender.steps == seen && getppid() == guest) sched_yield();
    seen = *sender.steps;
  }
  _exit(0);
}

static inline void end_sender(const struct SignalSender* sender) {
  CHECK(kill(sender->pid, SIGKILL) == 0);
  CHECK(waitpid(sender->pid, NULL, 0) == sender->pid);
}
