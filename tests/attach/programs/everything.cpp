// Threads that compute and threads that wait in system calls, until a line comes on standard input. Each says when anything of its own is
// not as it left it: integers, floating point, vectors, thread-local data, the results of calls.
#include <linux/futex.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> stop{false};
std::atomic<int> bad{0};
std::atomic<int> ticks{0};
thread_local uint64_t own = 0x1234;

void check(const char* what, bool good) {
  if (good) return;
  ++bad;
  std::fprintf(stderr, "%s: errno %d\n", what, errno);
}

struct Values {
  uint64_t x;
  double d;
  double v[4];
  bool operator==(const Values&) const = default;
};

Values advance(Values a) {
  for (int i = 0; i < 10000; ++i) {
    a.x ^= a.x << 13, a.x ^= a.x >> 7, a.x ^= a.x << 17;
    a.d = a.d * 1.0000001 + 1e-9;
    for (double& v : a.v) v = v * 0.9999999 + 1e-7;
  }
  return a;
}

void compute(unsigned k) {
  Values now{88172645463325252ull + k, 1.0, {1, 2, 3, 4}};
  while (!stop) {
    const Values once = advance(now), again = advance(now);
    check("values", once == again && own == 0x1234);
    now = once;
  }
}

}  // namespace

int main() {
  struct sigaction action{};
  action.sa_handler = [](int) { ++ticks; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  int reading[2], polled[2], watched[2];
  if (pipe(reading) != 0 || pipe(polled) != 0 || pipe(watched) != 0) return 9;
  const int epoll = epoll_create1(0);
  epoll_event event{EPOLLIN, {}};
  epoll_ctl(epoll, EPOLL_CTL_ADD, watched[0], &event);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);

  std::vector<std::thread> all;
  for (unsigned k = 0; k < 2; ++k) all.emplace_back(compute, k);
  all.emplace_back([&] {
    char c;
    check("read", read(reading[0], &c, 1) == 1 && c == 'x');
  });
  all.emplace_back([&] {
    pollfd f{polled[0], POLLIN, 0};
    check("poll", poll(&f, 1, 100'000) == 1);
  });
  all.emplace_back([&] {
    epoll_event out;
    check("epoll_wait", epoll_wait(epoll, &out, 1, -1) == 1);
  });
  all.emplace_back([&] { check("sem_wait", sem_wait(&semaphore) == 0); });
  all.emplace_back([&] {
    const timespec t{0, 50'000'000};
    while (!stop) check("nanosleep", nanosleep(&t, nullptr) == 0);
  });
  std::puts("ready");
  std::fflush(stdout);
  char line[16];
  check("input", read(0, line, sizeof line) > 0);
  stop = true;
  check("write", write(reading[1], "x", 1) + write(polled[1], "x", 1) + write(watched[1], "x", 1) == 3);
  sem_post(&semaphore);
  for (std::thread& t : all) t.join();
  raise(SIGALRM);
  std::printf("bad %d, signals %d, own %lx\n", bad.load(), ticks.load(), own);
  return bad != 0 ? 1 : 3;
}
