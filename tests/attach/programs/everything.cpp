// Threads that compute and threads that wait in system calls, until a line comes on standard input. Each says when anything of its own is
// not as it left it: integers, floating point, vectors, thread-local data, the results of calls.
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
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

// A zero entry of the queue is a request for nothing: it is complete at once.
void submit_nothing(int ring, const io_uring_params& p) {
  void* const queue = mmap(nullptr, p.sq_off.array + p.sq_entries * sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
  check("mmap", queue != MAP_FAILED);
  std::atomic_ref(*reinterpret_cast<uint32_t*>(static_cast<char*>(queue) + p.sq_off.tail)).store(1);
  check("submit", syscall(SYS_io_uring_enter, ring, 1, 0, 0, nullptr, 0) == 1);
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

  // Sockets with a time-out, and a ring: the kernel ends the wait for them at every stop.
  int received[2];
  const timeval timeout{100, 0};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, received) != 0) return 9;
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  socklen_t address_bytes = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any_address = reinterpret_cast<sockaddr*>(&address);
  if (bind(listening, any_address, sizeof address) != 0 || listen(listening, 1) != 0 || getsockname(listening, any_address, &address_bytes) != 0) return 9;
  for (const int s : {received[0], listening}) setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  io_uring_params parameters{};
  const long ring = syscall(SYS_io_uring_setup, 4, &parameters);   // not everywhere

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
  all.emplace_back([&] {
    char c;
    check("recv", recv(received[0], &c, 1, 0) == 1 && c == 'x');
  });
  all.emplace_back([&] { check("accept", accept(listening, nullptr, nullptr) >= 0); });
  all.emplace_back([&] {
    if (ring >= 0)
      check("io_uring_enter", syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, nullptr, 0) == 0);
    else
      while (!stop) usleep(10'000);
  });
  std::puts("ready");
  std::fflush(stdout);
  char line[16];
  check("input", read(0, line, sizeof line) > 0);
  stop = true;
  check("write", write(reading[1], "x", 1) + write(polled[1], "x", 1) + write(watched[1], "x", 1) == 3);
  check("send", send(received[1], "x", 1, 0) == 1);
  check("connect", connect(socket(AF_INET, SOCK_STREAM, 0), any_address, sizeof address) == 0);
  if (ring >= 0) submit_nothing(static_cast<int>(ring), parameters);
  sem_post(&semaphore);
  for (std::thread& t : all) t.join();
  raise(SIGALRM);
  std::printf("bad %d, signals %d, own %lx\n", bad.load(), ticks.load(), own);
  return bad != 0 ? 1 : 3;
}
