// A program with regions to record: markers, a function called often, threads that share lines.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "traces/simrun.h"

namespace {

volatile long table[4096];
std::atomic<long> shared{0};

}  // namespace

namespace shop {
[[gnu::noinline]] long sell(long first, const long* many) {
  asm volatile("" : : : "memory");  // its calls are not to be made one
  return many[first & 7];
}
}  // namespace shop

extern "C" [[gnu::noinline]] void work_step(long step) {
  for (long k = 0; k < 2000; ++k) table[(k * 17 + step) & 4095] = table[k & 4095] + step;
  long most = 0;
  asm volatile("cmpq %1, %0\n\tcmovlq %1, %0" : "+r"(most) : "r"(step) : "cc");
}

int main(int argc, char** argv) {
  const long steps = argc > 1 ? std::atol(argv[1]) : 20;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 0;
  std::vector<std::thread> others;
  for (int t = 0; t < threads; ++t)
    others.emplace_back([] {
      for (int k = 0; k < 20000; ++k) shared += table[k & 4095];
    });
  for (long step = 0; step < steps; ++step) {
    if (step == steps / 4) SIMRUN_MARKER(1);
    if (step == steps / 2) SIMRUN_MARKER(2);
    work_step(step);
  }
  for (auto& thread : others) thread.join();
  long few[8] = {};
  for (long k = 0; k < 3; ++k) few[k] = shop::sell(k, few);
  char text[64], copy[64];
  std::snprintf(text, sizeof text, "%ld %ld", table[5], steps);
  std::memcpy(copy, text, sizeof copy);
  std::puts(copy);
  return 3;
}
