// build: -pthread
// Thread-local variables with constructors and destructors, pthread keys, errno for each thread; exceptions in several
// threads at once.
#include <errno.h>
#include <pthread.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/guest/guest.h"

namespace {

std::atomic<int> constructed, destroyed, keyed;

struct Local {
  uint64_t values[64] = {};
  Local() { ++constructed; }
  ~Local() { ++destroyed; }
};
thread_local Local local;
thread_local int plain = 7;
pthread_key_t key;

[[gnu::noinline]] int nested(int depth) {
  if (depth == 0) throw std::runtime_error("thrown");
  return nested(depth - 1) + 1;
}

void work(int id) {
  CHECK(plain == 7);
  pthread_setspecific(key, &local);
  int caught = 0;
  for (int i = 0; i < 200; ++i) {
    local.values[i % 64] += static_cast<uint64_t>(id);
    plain += id;
    errno = id;
    try {
      nested(i % 10);
    } catch (const std::runtime_error&) {
      ++caught;
    }
    CHECK(errno == id);
  }
  CHECK(caught == 200 && plain == 7 + 200 * id && pthread_getspecific(key) == &local);
  uint64_t sum = 0;
  for (uint64_t v : local.values) sum += v;
  CHECK_EQUAL(sum, 200 * id);
}

}  // namespace

int main() {
  CHECK(pthread_key_create(&key, [](void*) { ++keyed; }) == 0);
  for (int round = 0; round < 5; ++round) {
    std::vector<std::thread> threads;
    for (int i = 1; i <= 8; ++i) threads.emplace_back(work, i);
    for (auto& t : threads) t.join();
  }
  CHECK(constructed == 40 && destroyed == 40 && keyed == 40);
  return finish();
}
