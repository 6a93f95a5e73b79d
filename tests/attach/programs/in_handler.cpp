// Is in a signal handler while simrun comes and goes; behind it the interrupted code has its vector registers still, whole.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace {

void handler(int) {
  std::puts("ready");
  std::fflush(stdout);
  char line;
  while (read(0, &line, 1) != 1) continue;
}

// Of registers that a call may change: kill(getpid(), SIGUSR1) between the two.
__attribute__((target("avx"))) bool upper_halves_stay() {
  const unsigned long before[4] = {1, 2, 3, 4};
  unsigned long behind[4] = {};
  asm volatile("vmovdqu %1, %%ymm9\n mov $62, %%eax\n syscall\n vmovdqu %%ymm9, %0"
               : "=m"(behind) : "m"(before), "D"(getpid()), "S"(SIGUSR1) : "rax", "rcx", "r11", "memory", "xmm9");
  return std::memcmp(before, behind, sizeof before) == 0;
}

}  // namespace

int main() {
  std::signal(SIGUSR1, handler);
  if (__builtin_cpu_supports("avx")) return upper_halves_stay() ? 0 : 1;
  std::raise(SIGUSR1);
  return 0;
}
