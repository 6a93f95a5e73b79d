// How far two processors are from each other: nanoseconds until a word that one writes is seen by the other, as two
// threads that answer each other find out, each bound to one of the first two processors that this process may use.
// Prints one number; nothing where there is one processor.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace {

constexpr int kAnswers = 200'000;
alignas(128) std::atomic<int> word = 0;

void bind_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  sched_setaffinity(0, sizeof set, &set);
}

void wait_for(int value) {
  while (word.load() != value) {
  }
}

}  // namespace

int main() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  int processors[2], found = 0;
  for (int i = 0; i < CPU_SETSIZE && found < 2; ++i)
    if (CPU_ISSET(i, &allowed)) processors[found++] = i;
  if (found < 2) return 0;
  std::thread other([&] {
    bind_to(processors[1]);
    for (int i = 0; i < kAnswers; ++i) wait_for(2 * i + 1), word.store(2 * i + 2);
  });
  bind_to(processors[0]);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kAnswers; ++i) word.store(2 * i + 1), wait_for(2 * i + 2);
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
  other.join();
  std::printf("%.0f\n", time.count() / kAnswers / 2);
}
