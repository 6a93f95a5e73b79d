#include "cli/terminal_signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace simrun::cli {
namespace {

bool is_pending(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal) == 1;
}

// The family that a handler asks ends on the thread that has installed the handlers: none may run on another one meanwhile.
TEST(TerminalSignals, AreHandledByTheThreadThatInstalled) {
  sigset_t interrupt, before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &interrupt, &before);
  install_signal_handlers();
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);   // here only
  const int seen = signals_seen();
  pthread_kill(other.native_handle(), SIGINT);
  for (int wait = 0; wait < 5000 && !is_pending(SIGINT) && signals_seen() == seen; ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(is_pending(SIGINT));
  EXPECT_EQ(signals_seen(), seen);
  pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
  EXPECT_EQ(signals_seen(), seen + 1);
  done = true;
  other.join();
  signal(SIGINT, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace simrun::cli
