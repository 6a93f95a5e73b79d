#include "cli/terminal_signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <limits>
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

// A program may send a signal with any code below 0 (rt_sigqueueinfo(2)): it reaches the thread that has installed the handlers as it is.
TEST(TerminalSignals, AreHandedOnWithAnyCode) {
  sigset_t interrupt, before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &interrupt, &before);
  install_signal_handlers();
  std::atomic<pid_t> other_tid{0};
  std::atomic<bool> done{false};
  std::thread other([&] {
    other_tid = gettid();
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (other_tid == 0) std::this_thread::yield();
  pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);  // here only
  for (const int code : {std::numeric_limits<int>::min(), -0x6000'0000}) {
    siginfo_t sent{}, got{};
    sent.si_signo = SIGINT, sent.si_code = code;
    ASSERT_EQ(syscall(SYS_rt_tgsigqueueinfo, getpid(), other_tid.load(), SIGINT, &sent), 0);
    const timespec limit{5, 0};
    EXPECT_EQ(sigtimedwait(&interrupt, &got, &limit), SIGINT) << code;
    EXPECT_EQ(got.si_code, code);
  }
  done = true;
  other.join();
  signal(SIGINT, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace simrun::cli
