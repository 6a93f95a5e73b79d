// What paths execute of which basic block, and the tables that it is counted in, against maps and the definition.
#include "cli/phases/path_blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "cli/phases/sparse_counts.h"

namespace simrun::cli {
namespace {

using Instruction = channel::PathInstruction;

TEST(SparseCounts, EqualAMap) {
  std::mt19937 random(1);
  SparseCounts counts;
  for (int round = 0; round < 200; ++round) {
    std::map<uint32_t, uint64_t> expected;
    const uint32_t most = 1u << random() % 18;
    for (uint32_t n = random() % 300; n != 0; --n) {
      const auto number = static_cast<uint32_t>(random() % most);
      const uint64_t count = 1 + random() % 1000 * uint64_t{10'000'000'000};
      counts.add(number, count);
      expected[number] += count;
    }
    EXPECT_EQ(counts.empty(), expected.empty());
    std::vector<uint32_t> numbers;
    counts.for_each([&](uint32_t number) { numbers.push_back(number); });
    std::vector<std::pair<uint32_t, uint64_t>> taken;
    counts.take([&](uint32_t number, uint64_t count) { taken.emplace_back(number, count); });
    ASSERT_EQ(taken, (std::vector<std::pair<uint32_t, uint64_t>>(expected.begin(), expected.end())));
    ASSERT_EQ(numbers.size(), taken.size());
    for (size_t k = 0; k < numbers.size(); ++k) EXPECT_EQ(numbers[k], taken[k].first);
    EXPECT_TRUE(counts.empty());
    counts.take([](uint32_t, uint64_t) { FAIL() << "there is something left"; });
  }
}

TEST(AddressTable, EqualsAMap) {
  std::mt19937_64 random(2);
  AddressTable<uint32_t> table;
  std::map<uint64_t, uint32_t> expected;
  const auto address = [&] { return random() % 8 == 0 ? random() >> 17 : 0x400000 + random() % 40000; };
  for (int k = 0; k < 100000; ++k) {
    const uint64_t written = address(), read = address();
    ++table[written];
    ++expected[written];
    const uint32_t* const found = table.find(read);
    const auto it = expected.find(read);
    ASSERT_EQ(found == nullptr ? 0 : *found, it == expected.end() ? 0 : it->second);
  }
}

// Code without gaps, and paths through it: to the next instruction, or behind a transfer also to any other.
class PathBlocksTest : public ::testing::Test {
 protected:
  static constexpr size_t kInstructions = 3000;
  PathBlocksTest() {
    uint64_t pc = 0x400ff0;
    for (size_t k = 0; k < kInstructions; ++k) {
      const auto length = static_cast<uint8_t>(1 + random_() % 15);
      const bool ends = random_() % 6 == 0 || k + 1 == kInstructions;
      code_.push_back({pc, length, static_cast<uint8_t>(ends ? border::kEndsBlock : 0)});
      pc += length;
    }
  }
  size_t somewhere() { return random_() % kInstructions; }
  std::vector<size_t> walk(size_t instructions) {
    std::vector<size_t> path{somewhere()};
    while (path.size() < instructions) {
      const bool jumps = (code_[path.back()].flags & border::kEndsBlock) != 0 && random_() % 2 == 0;
      const size_t next = jumps ? somewhere() : path.back() + 1;
      if (next == kInstructions) break;
      path.push_back(next);
    }
    return path;
  }
  std::vector<Instruction> code_of(const std::vector<size_t>& path) const {
    std::vector<Instruction> code;
    for (const size_t k : path) code.push_back(code_[k]);
    return code;
  }
  uint64_t block(size_t k) const {
    while ((code_[k].flags & border::kEndsBlock) == 0) ++k;
    return code_[k].pc;
  }
  std::map<uint64_t, uint64_t> blocks_in(PathBlockTable& table, uint64_t word) const {
    std::map<uint64_t, uint64_t> found;
    table.for_each_block(*table.find(word), [&](uint32_t number, uint32_t n) { found[table.address_of(number)] += n; });
    return found;
  }

  std::mt19937 random_{3};
  std::vector<Instruction> code_;
};

TEST_F(PathBlocksTest, EqualTheDefinition) {
  PathBlockTable table;
  std::map<uint64_t, std::vector<size_t>> paths;  // by word
  std::map<uint64_t, std::set<uint64_t>> words;   // by address
  const auto learn = [&](const std::vector<size_t>& path) {
    const uint64_t word = 256 + 3 * paths.size();
    EXPECT_EQ(table.find(word), nullptr);
    EXPECT_EQ(table.learn(word, code_of(path)).instructions, path.size());
    for (const size_t k : path) words[code_[k].pc].insert(word);
    paths[word] = path;
  };
  // What a path has executed is what it is, even while nobody knows where its last block ends.
  for (int k = 0; k < 400; ++k) {
    learn(walk(1 + random_() % 40));
    for (const auto& [word, path] : paths) {
      uint64_t sum = 0;
      for (const auto& [address, n] : blocks_in(table, word)) sum += n;
      ASSERT_EQ(sum, path.size());
    }
  }
  for (size_t k = 0; k < kInstructions; ++k) learn({k});
  std::set<std::pair<uint64_t, uint32_t>> numbers;
  for (const auto& [word, path] : paths) {
    std::map<uint64_t, uint64_t> expected;
    std::vector<uint64_t> addresses;
    for (size_t i = 0; i < path.size(); ++i) {
      ++expected[block(path[i])];
      addresses.push_back(code_[path[i]].pc);
      numbers.emplace(block(path[i]), table.block_of(code_of(path), static_cast<uint32_t>(i)));
    }
    ASSERT_EQ(blocks_in(table, word), expected);
    const auto kept = table.addresses(word);
    EXPECT_EQ(std::vector<uint64_t>(kept.begin(), kept.end()), addresses);
  }
  for (const auto& [address, number] : numbers) EXPECT_EQ(table.address_of(number), address);  // one for each
  for (const auto& [address, expected] : words) {
    const std::vector<uint32_t> around = table.paths_around(address);
    EXPECT_EQ(std::set<uint32_t>(around.begin(), around.end()).size(), around.size());
    for (const uint64_t word : expected) EXPECT_NE(std::find(around.begin(), around.end(), word), around.end());
  }
}

}  // namespace
}  // namespace simrun::cli
