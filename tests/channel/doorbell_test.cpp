#include "instr/channel/doorbell.h"

#include <gtest/gtest.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <thread>

namespace simrun::channel {
namespace {

using namespace std::chrono_literals;
using border::kConsumerNaps, border::kConsumerRuns, border::kConsumerSleeps;

// Long enough that a sleeper which nobody wakes fails the test by its time-out.
constexpr std::chrono::seconds kNever{1000};

TEST(Doorbell, SaysHowTheConsumerRests) {
  std::atomic<uint32_t> word{kConsumerRuns};
  Doorbell bell(word);
  bell.arm();
  EXPECT_EQ(word, kConsumerSleeps);
  bell.disarm();
  EXPECT_EQ(word, kConsumerRuns);
  bell.arm(kConsumerNaps);
  EXPECT_EQ(word, kConsumerNaps);
  bell.disarm();
  EXPECT_EQ(word, kConsumerRuns);
}

TEST(Doorbell, WakesFromSleepAndNap) {
  for (const uint32_t rest : {kConsumerSleeps, kConsumerNaps}) {
    std::atomic<uint32_t> one{kConsumerRuns}, other{kConsumerRuns};
    Doorbell bell(one);
    bell.add(other);
    std::atomic<bool> armed{false};
    std::thread producer([&] {
      while (!armed) std::this_thread::yield();
      std::this_thread::sleep_for(1ms);   // so that it usually sleeps already
      ring(other);
    });
    bell.arm(rest);
    armed = true;
    bell.sleep(kNever);
    EXPECT_EQ(other, kConsumerRuns);
    bell.disarm();
    producer.join();
  }
}

// What is rung between arm() and sleep() is not slept away, neither by a producer nor by a signal handler.
TEST(Doorbell, IsNotSleptThrough) {
  std::atomic<uint32_t> word{kConsumerRuns};
  Doorbell bell(word);
  for (const uint32_t rest : {kConsumerSleeps, kConsumerNaps}) {
    bell.arm(rest);
    ring(word);
    bell.sleep(kNever);
    bell.disarm();
    bell.arm(rest);
    bell.ring();
    bell.sleep(kNever);
    bell.disarm();
  }
}

// Of this thread only: futex_waitv fails as in a container whose seccomp profile does not know it. False: no filters here.
bool forbid_futex_waitv() {
  sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex_waitv, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{std::size(program), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(Doorbell, SleepsWhereItMayNotWaitForManyWords) {
  std::atomic<uint32_t> word{kConsumerRuns};
  bool filtered = false;
  std::chrono::steady_clock::duration slept{};
  std::thread consumer([&] {
    filtered = forbid_futex_waitv();
    Doorbell bell(word);
    bell.arm();
    const auto begun = std::chrono::steady_clock::now();
    for (int k = 0; k < 20; ++k) bell.sleep(kNever);
    slept = std::chrono::steady_clock::now() - begun;
    bell.disarm();
  });
  consumer.join();
  if (!filtered) GTEST_SKIP() << "seccomp filters cannot be made here";
  EXPECT_GE(slept, 15ms);  // a millisecond each; signals may end a few early
}

}  // namespace
}  // namespace simrun::channel
