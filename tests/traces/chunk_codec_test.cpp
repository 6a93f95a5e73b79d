#include "traces/chunk_codec.h"

#include <gtest/gtest.h>

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
