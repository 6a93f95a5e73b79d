#include "instr/channel/ring_reader.h"

#include <gtest/gtest.h>

#include <thread>

#include "instr/channel/drain.h"
#include "instr/channel/stream_error.h"
#include "tests/channel/fake_target.h"

namespace simrun::channel {
namespace {

TEST(RingReader, ShowsWordsOfTheChunkBeingFilled) {
  FakeTarget target;
  MappedProcess process(target.mapping());
  RingReader reader(process, 3);
  EXPECT_FALSE(reader.refresh(false));  // no producer yet
  Producer producer(target, 3, 77);
  EXPECT_FALSE(reader.refresh(false));
  producer.put({300, 1, 2});
  ASSERT_TRUE(reader.refresh(false));
  ASSERT_EQ(reader.words().size(), 3u);
  EXPECT_EQ(reader.words()[1], 1u);
  EXPECT_FALSE(reader.refresh(false));
  producer.put({301});
  ASSERT_TRUE(reader.refresh(false));
  EXPECT_EQ(reader.words().size(), 4u);
  EXPECT_FALSE(reader.at_chunk_end());
}

TEST(RingReader, GivesFinishedChunksBack) {
  FakeTarget target(8192, 4);
  MappedProcess process(target.mapping());
  RingReader reader(process, 0);
  Producer producer(target, 0, 1);
  producer.put({400, 1});
  producer.switch_chunk();
  producer.put({401});
  ASSERT_TRUE(reader.refresh(false));
  EXPECT_TRUE(reader.at_chunk_end());
  EXPECT_EQ(reader.words().size(), 2u);
  EXPECT_EQ(target.slot(0).ring.consumed.load(), 0u);
  reader.consume_to(reader.end());
  ASSERT_TRUE(reader.refresh(false));
  EXPECT_EQ(target.slot(0).ring.consumed.load(), 1u);
  EXPECT_EQ(reader.words()[0], 401u);
  EXPECT_EQ(reader.words_consumed(), 2u);
}

// After an error in the stream the rest is thrown away, so that the program goes on.
TEST(Drain, GoesOnWhereAnotherReaderStopped) {
  FakeTarget target(8192, 4);
  MappedProcess process(target.mapping());
  RingReader reader(process, 0);
  Producer producer(target, 0, 1);
  for (uint64_t chunk = 0; chunk < 6; ++chunk) {
    producer.put({400 + chunk});
    if (chunk < 5) producer.switch_chunk();
    ASSERT_TRUE(reader.refresh(false));
    EXPECT_EQ(reader.words()[0], 400 + chunk);
    reader.consume_to(reader.end());
  }
  producer.switch_chunk();
  producer.put({500, 501});
  Drain drain(process);
  EXPECT_EQ(drain.advance(false), Status::kAdvanced);
  EXPECT_EQ(drain.words(), 3u);  // one of the chunk that had not been given back
  EXPECT_EQ(target.slot(0).ring.consumed.load(), 6u);
}

TEST(RingReader, NothingIsLostBetweenThreads) {
  FakeTarget target(8192, 2);
  MappedProcess process(target.mapping());
  constexpr uint64_t kWords = 3'000'000;
  std::thread writer([&] {
    Producer producer(target, 0, 1);
    for (uint64_t i = 0; i < kWords;) {
      uint64_t some[7];
      const size_t count = 1 + i % 7;
      for (size_t k = 0; k < count; ++k) some[k] = i++;
      producer.put(some, count);
    }
    producer.state(border::ThreadState::kDead);
  });
  RingReader reader(process, 0);
  uint64_t expected = 0;
  while (expected < kWords) {
    if (!reader.refresh(false)) continue;
    for (uint64_t word : reader.words()) ASSERT_EQ(word, expected++);
    reader.consume_to(reader.end());
  }
  writer.join();
  EXPECT_FALSE(reader.refresh(false));
}

TEST(RingReader, EndOfAChunkAsBufferIsASwitchGoingOn) {
  FakeTarget target(8192, 4);
  MappedProcess process(target.mapping());
  RingReader reader(process, 0);
  Producer producer(target, 0, 1);
  producer.put({500, 1, 2});
  ASSERT_TRUE(reader.refresh(false));
  // The producer stored `fill` and `buffer`, not yet `produced`: words between fill and the end are not valid.
  target.slot(0).ring.fill[0] = 3;
  target.slot(0).ring.written = reinterpret_cast<uint64_t>(target.ring(0) + 1024);
  EXPECT_FALSE(reader.refresh(false));
  EXPECT_EQ(reader.words().size(), 3u);
  EXPECT_FALSE(reader.refresh(true));  // killed right there: still three
  EXPECT_EQ(reader.words().size(), 3u);
}

TEST(RingReader, KilledAmidASwitchKeepsTheWordsOfTheFullChunk) {
  FakeTarget target(8192, 4);
  MappedProcess process(target.mapping());
  RingReader reader(process, 0);
  Producer producer(target, 0, 1);
  producer.put({500, 1, 2});
  target.slot(0).ring.fill[0] = 3;
  target.slot(0).ring.written = reinterpret_cast<uint64_t>(target.ring(0) + 1024);
  ASSERT_TRUE(reader.refresh(true));
  EXPECT_EQ(reader.words().size(), 3u);
}

TEST(RingReader, RefusesImpossibleNumbers) {
  FakeTarget target;
  MappedProcess process(target.mapping());
  Producer producer(target, 0, 1);
  producer.put({500, 1, 2});
  target.slot(0).ring.produced = 99;
  RingReader reader(process, 0);
  EXPECT_THROW(reader.refresh(false), StreamError);
  target.slot(0).ring.produced = 1;
  target.slot(0).ring.fill[0] = 5000;
  EXPECT_THROW(reader.refresh(false), StreamError);
}

TEST(MappedProcess, RefusesALayoutThatDoesNotHoldTogether) {
  FakeTarget target;
  const auto refused = [&] {
    try {
      MappedProcess process(target.mapping());
      return false;
    } catch (const StreamError&) {
      return true;
    }
  };
  EXPECT_FALSE(refused());
  target.header().ring_chunks = 1;
  EXPECT_TRUE(refused());
  target.header().ring_chunks = 4;
  target.header().path_capacity = ~0u;
  EXPECT_TRUE(refused());
  target.header().path_capacity = 1000;
  target.header().version += 1;
  EXPECT_TRUE(refused());
}

TEST(Drain, TakesEverythingAndFreesTheSlot) {
  FakeTarget target(8192, 2);
  MappedProcess process(target.mapping());
  std::thread writer([&] {
    Producer producer(target, 0, 1);
    for (uint64_t i = 0; i < 100'000; ++i) producer.put({i, i, i});
    producer.end();
  });
  Drain drain(process);
  while (drain.words() < 300'001) drain.advance(true);
  writer.join();
  drain.advance(true);
  EXPECT_EQ(drain.words(), 300'001u);
  EXPECT_EQ(target.slot(0).ring.state.load(), static_cast<uint32_t>(border::ThreadState::kFree));
  EXPECT_EQ(drain.advance(false), Status::kFinished);
}

}  // namespace
}  // namespace simrun::channel
