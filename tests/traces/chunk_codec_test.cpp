#include "traces/chunk_codec.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/traces/made_trace.h"

namespace simrun::traces {
namespace {

struct Made {
  DescriptorTable table;
  Chunk chunk;
  ShapesOf shapes = [this](uint32_t) { return table.shapes(); };
};

Made make(uint64_t seed, uint32_t threads, uint32_t paths) {
  Made m;
  MadeTrace made(seed);
  made.describe(m.table);
  for (uint32_t t = 0; t < threads; ++t) {
    ThreadPart part;
    part.thread = 10 + t;
    part.tid = 77;
    part.fs = 0x7fff0000 + t;
    part.first_instruction = 5;
    uint32_t left = paths;
    while (left != 0) {
      const auto some = static_cast<uint32_t>(1 + made.number(left));
      uint64_t instructions = 0;
      const auto words = made.paths(some, &instructions);
      part.words.insert(part.words.end(), words.begin(), words.end());
      part.items += some;
      part.instructions += instructions;
      left -= some;
      const auto event = made.event();
      part.words.insert(part.words.end(), event.begin(), event.end());
      ++part.items;
      if (static_cast<uint32_t>(event[0]) == static_cast<uint32_t>(Event::kCut)) part.instructions += event[2];
    }
    m.chunk.turns.push_back({t, static_cast<uint32_t>(part.items)});
    m.chunk.instructions += part.instructions;
    m.chunk.threads.push_back(std::move(part));
  }
  return m;
}

Bytes encode_chunk(const Chunk& chunk, const ShapesOf& shapes) { return ChunkEncoder().encode(chunk, shapes); }

// Words of the item that starts at `words` (its first word included), of a decoded chunk.
uint64_t item_words(const uint64_t* words, const PathShapes& shapes) {
  const auto id = static_cast<uint32_t>(*words);
  return 1 + (id < kFirstPath ? *words >> 32 : shapes.paths[id].words);
}

TEST(ChunkCodec, WhatIsEncodedIsDecoded) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Made m = make(seed, 1 + seed % 4, 500);
    const Chunk back = decode_chunk(encode_chunk(m.chunk, m.shapes), m.shapes);
    ASSERT_EQ(back.threads.size(), m.chunk.threads.size());
    EXPECT_EQ(back.instructions, m.chunk.instructions);
    for (size_t t = 0; t < back.threads.size(); ++t) {
      const ThreadPart &a = back.threads[t], &b = m.chunk.threads[t];
      EXPECT_EQ(a.words, b.words);
      EXPECT_EQ(std::tie(a.thread, a.process, a.tid, a.fs, a.gs, a.first_instruction, a.items, a.instructions),
                std::tie(b.thread, b.process, b.tid, b.fs, b.gs, b.first_instruction, b.items, b.instructions));
    }
    ASSERT_EQ(back.turns.size(), m.chunk.turns.size());
  }
}

TEST(ChunkCodec, LoopsCostNextToNothing) {
  DescriptorTable table;
  Superblock s{0x1000, {{0, 4, 0}, {4, 4, kEndsBlock}}, {}, {}, {3, 4}};
  Operand load{.word_a = 1, .size = 8}, store{.instruction = 1, .kind = OperandKind::kStore, .word_a = 2, .size = 8};
  s.operands = {load, store};
  table.add_superblock(s);
  table.add_path({0, 2, 2, 2});
  Chunk chunk;
  chunk.threads.resize(1);
  ThreadPart& part = chunk.threads[0];
  part.items = 100000;
  for (uint64_t k = 0; k < part.items; ++k)
    part.words.insert(part.words.end(), {kFirstPath, 0x7000'0000 + 64 * k, 0x8000'0000 - 8 * k});
  chunk.turns = {{0, 100000}};
  const ShapesOf shapes = [&](uint32_t) { return table.shapes(); };
  const Bytes bytes = encode_chunk(chunk, shapes);
  EXPECT_LT(bytes.size(), 200u);
  EXPECT_EQ(decode_chunk(bytes, shapes).threads[0].words, part.words);
}

// One thread in a loop of one path with so many words, of registers 3, 4, 3, 4 ...; `value` gives them.
template <class Value>
Made loop(uint32_t words, uint64_t times, Value&& value) {
  Made m;
  Superblock s{0x1000, {{0, 4, kEndsBlock}}, {}, {}, {}};
  for (uint32_t k = 0; k < words; ++k) {
    s.operands.push_back({.word_a = static_cast<uint16_t>(k + 1), .size = 8});
    s.word_registers.push_back(static_cast<uint8_t>(3 + k % 2));
  }
  m.table.add_superblock(s);
  m.table.add_path({0, 1, static_cast<uint16_t>(words), static_cast<uint16_t>(words)});
  ThreadPart part;
  part.items = part.instructions = times;
  for (uint64_t time = 0; time < times; ++time) {
    part.words.push_back(kFirstPath);
    for (uint32_t k = 0; k < words; ++k) part.words.push_back(value(time, k));
  }
  m.chunk.instructions = times;
  m.chunk.threads.push_back(std::move(part));
  m.chunk.turns = {{0, static_cast<uint32_t>(times)}};
  return m;
}

// Bytes before compression, of a loop that decodes to what it was.
template <class Value>
size_t size_of_loop(uint32_t words, uint64_t times, Value&& value) {
  const Made m = loop(words, times, value);
  const Bytes bytes = encode_chunk(m.chunk, m.shapes);
  EXPECT_EQ(decode_chunk(bytes, m.shapes).threads.at(0).words, m.chunk.threads[0].words);
  return bytes.size();
}

// What cannot be predicted costs its bytes, not codes on top, whatever its size.
TEST(ChunkCodec, RandomWordsCostTheirBytes) {
  for (uint32_t bits = 1; bits <= 64; ++bits) {
    std::mt19937_64 random(bits);
    const size_t width = bits + 1 <= 32 ? (bits + 1 + 7) / 8 : 8;  // of a difference, with its sign
    const size_t size = size_of_loop(1, 4000, [&](uint64_t, uint32_t) { return random() >> (64 - bits); });
    // Now and then it is smaller for so long that less is tried.
    EXPECT_LT(size, 4000 * width * 5 / 4 + 200) << bits;
  }
}

// A step that changes now and then, another register's value at a distance, a jump: what comes back costs nothing.
TEST(ChunkCodec, StepsThatChangeAreFound) {
  const auto steps = [](uint64_t time, uint32_t) { return 0x7000'0000'0000 + time * (8 << time / 10000 % 4); };
  EXPECT_LT(size_of_loop(1, 40000, steps), 400u);
  std::mt19937_64 random(1);
  uint64_t object = 0;
  const auto fields = [&](uint64_t, uint32_t k) {
    if (k == 0) object = 0x5555'0000'0000 + 32 * (random() % 1000);
    return object + 8 * k;
  };
  EXPECT_LT(size_of_loop(3, 10000, fields), 10000u * 9 / 2);  // the third word is at a distance from the first
  const auto jumps = [](uint64_t time, uint32_t) { return 0x1'0000 * (time / 1000) + 4 * (time % 1000); };
  EXPECT_LT(size_of_loop(1, 100000, jumps), 100u * 20);
}

TEST(ChunkCodec, ValuesAtTheEdges) {
  constexpr uint64_t kEdges[] = {0, 1, ~uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1, 0xff, 0x80, 0x7f, 1u << 31};
  std::mt19937_64 random(1);
  for (uint32_t words : {1, 2, 5})
    size_of_loop(words, 3000, [&](uint64_t time, uint32_t) { return time / 100 % 2 == 0 ? kEdges[random() % 9] : time; });
}

// More words than there are slots: some share theirs, with other registers.
TEST(ChunkCodec, WordsThatShareASlot) {
  Made m;
  ThreadPart part;
  for (uint32_t b = 0; b < 40; ++b) {
    Superblock s{0x1000 + 64 * b, {{0, 4, kEndsBlock}}, {}, {}, {}};
    for (uint32_t k = 0; k < 4001; ++k) s.word_registers.push_back(static_cast<uint8_t>((b + k) % 17));
    s.operands.assign(1, {.word_a = 4001, .size = 8});
    m.table.add_superblock(s);
    m.table.add_path({b, 1, 1, 4001});
  }
  for (uint64_t time = 0; time < 120; ++time) {
    part.words.push_back(kFirstPath + time % 40);
    for (uint64_t k = 0; k < 4001; ++k) part.words.push_back(0x7000'0000 + 16 * k + time * time);
    ++part.items, ++part.instructions;
  }
  m.chunk.instructions = part.instructions;
  m.chunk.turns = {{0, static_cast<uint32_t>(part.items)}};
  m.chunk.threads.push_back(std::move(part));
  EXPECT_EQ(decode_chunk(encode_chunk(m.chunk, m.shapes), m.shapes).threads.at(0).words, m.chunk.threads[0].words);
}

// Whatever the bytes: an error, or a chunk whose items and turns are complete.
void decode_damaged(const Bytes& bytes, const Made& m, uint64_t* errors) {
  try {
    const Chunk chunk = decode_chunk(bytes, m.shapes);
    for (const ThreadPart& part : chunk.threads) {
      const uint64_t* at = part.words.data();
      for (uint64_t k = 0; k < part.items; ++k) at += item_words(at, m.table.shapes());
      ASSERT_EQ(at, part.words.data() + part.words.size());
    }
  } catch (const FormatError&) {
    ++*errors;
  }
}

TEST(ChunkCodec, DamagedBytesNeverDoMoreThanFail) {
  Made m = make(7, 2, 300);
  const Bytes good = encode_chunk(m.chunk, m.shapes);
  std::mt19937_64 random(1);
  uint64_t errors = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes bad = good;
    for (uint64_t k = 1 + random() % 4; k != 0; --k) bad[random() % bad.size()] ^= static_cast<uint8_t>(1 << random() % 8);
    if (round % 3 == 0) bad.resize(random() % bad.size());
    decode_damaged(bad, m, &errors);
  }
  EXPECT_GT(errors, 1500u);
}

TEST(ChunkCodec, CutOffAnywhereIsAnError) {
  Made m = make(3, 1, 50);
  const Bytes good = encode_chunk(m.chunk, m.shapes);
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(decode_chunk(std::span(good).first(size), m.shapes), FormatError) << size;
}

}  // namespace
}  // namespace simrun::traces
