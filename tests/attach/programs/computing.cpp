// Threads that make no system call, four or as many as the first argument says, until standard input ends.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 4;
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&ends] {
      volatile long sum = 0;
      for (long k = 0; !ends.load(std::memory_order_relaxed); ++k) sum = sum + k;
    });
  std::puts("ready");
  std::fflush(stdout);
  char byte;
  const bool asked = read(STDIN_FILENO, &byte, 1) == 1;
  ends = true;
  for (std::thread& t : threads) t.join();
  return asked ? 0 : 1;
}
