// A tree of processes: a child that works between two markers while its parent does, and one that is another program.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "traces/simrun.h"

namespace {

volatile long table[4096];

}  // namespace

extern "C" [[gnu::noinline]] void child_step(long step) {
  for (long k = 0; k < 1000; ++k) table[(k * 17 + step) & 4095] = table[k & 4095] + step;
}

int main(int, char** argv) {
  const pid_t child = fork();
  if (child == 0) {
    for (long step = 0; step < 30; ++step) {
      if (step == 10) SIMRUN_MARKER(1);
      if (step == 20) SIMRUN_MARKER(2);
      child_step(step);
    }
    _exit(0);
  }
  for (long step = 0; step < 10; ++step) child_step(step);
  waitpid(child, nullptr, 0);
  if (argv[1] != nullptr) {
    pid_t other = 0;
    if (posix_spawn(&other, argv[1], nullptr, nullptr, argv + 1, environ) == 0) waitpid(other, nullptr, 0);
  }
  std::puts("done");
  return 0;
}
