#include "instr/channel/doorbell.h"

#include <gtest/gtest.h>

#include <chrono>
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

}  // namespace
}  // namespace simrun::channel
