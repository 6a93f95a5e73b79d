// Three threads that go on making short ones, until there is a line on standard input. Prints "ready" when they do, and at the end how many could not be
// made.
#include <atomic>
#include <cstdio>
#include <pthread.h>

namespace {

std::atomic<bool> g_ends{false};
std::atomic<int> g_failed{0};

void* nothing(void*) { return nullptr; }

void* make_threads(void*) {
  while (!g_ends) {
    pthread_t made[4];
    int count = 0;
    for (pthread_t& t : made) {
      if (pthread_create(&t, nullptr, nothing, nullptr) != 0) break;
      ++count;
    }
    g_failed += 4 - count;
    for (int k = 0; k < count; ++k) pthread_join(made[k], nullptr);
  }
  return nullptr;
}

}  // namespace

int main() {
  pthread_t makers[3];
  for (pthread_t& t : makers) pthread_create(&t, nullptr, make_threads, nullptr);
  std::puts("ready");
  std::fflush(stdout);
  std::getchar();
  g_ends = true;
  for (pthread_t& t : makers) pthread_join(t, nullptr);
  std::printf("%d failed\n", g_failed.load());
}
