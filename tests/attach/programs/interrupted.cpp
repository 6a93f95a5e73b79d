// interrupted CALL: waits in a system call. Says what it returned, and how often SIGUSR1 and SIGUSR2 were handled; the latter with SA_RESTART.
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string_view>

namespace {

volatile sig_atomic_t handled = 0;

void handle(int signal, int flags) {
  struct sigaction action{};
  action.sa_handler = [](int) { handled = handled + 1; };
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

long wait_in(std::string_view call) {
  char c;
  if (call == "pause") return pause();
  if (call == "poll") return poll(nullptr, 0, 100'000);
  if (call == "read") return read(0, &c, 1);
  int sockets[2];
  const timeval timeout{100, 0};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0 || setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) != 0) return -2;
  return recv(sockets[0], &c, 1, 0);
}

}  // namespace

int main(int, char** argv) {
  handle(SIGUSR1, 0);
  handle(SIGUSR2, SA_RESTART);
  std::puts("ready");
  std::fflush(stdout);
  const long result = wait_in(argv[1]);
  std::printf("%ld, %s, %d handled\n", result, result >= 0 ? "no error" : errno == EINTR ? "EINTR" : "another error", static_cast<int>(handled));
}
