// A directory's entries are found by their lines, whatever was opened and closed before, as in a map.
#include "sim/coherence/line_directory.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace simrun::sim {
namespace {

TEST(LineDirectory, FindsWhatIsOpen) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    // Rows of lines at distances of which many have the same places, as strides of programs have.
    const uint64_t lines = uint64_t{4} << random() % 12, distance = uint64_t{1} << random() % 40;
    LineDirectory directory(1);
    std::map<uint64_t, Slot> open;
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t line = random() % lines / 4 * distance + random() % 8;
      const auto known = open.find(line);
      ASSERT_EQ(directory.find(line), known == open.end() ? kNoSlot : known->second);
      if (known == open.end()) {
        const Slot slot = directory.open(line);
        ASSERT_EQ(directory.line(slot), line);
        open[line] = slot;
      } else if (random() % 2 == 0) {
        ASSERT_EQ(directory.open(line), known->second);
      } else {
        directory.close(known->second);
        open.erase(known);
      }
      ASSERT_EQ(directory.open_entries(), open.size());
    }
    for (const auto& [line, slot] : open) ASSERT_EQ(directory.find(line), slot);
    size_t seen = 0;
    directory.for_each([&](Slot slot) { seen += open.at(directory.line(slot)) == slot; });
    EXPECT_EQ(seen, open.size());
  }
}

// Also beyond the 64 that an entry holds itself, and when an entry is used again for another line.
TEST(LineDirectory, KnowsTheSharersOfEachLine) {
  for (const uint32_t children : {1u, 64u, 65u, 200u}) {
    std::mt19937_64 random(children);
    LineDirectory directory(children);
    std::map<uint64_t, std::set<uint32_t>> sharers;
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t line = random() % 300;
      const auto child = static_cast<uint32_t>(random() % children);
      const bool known = sharers.contains(line);
      const Slot slot = directory.open(line);
      std::set<uint32_t> found;
      for (uint32_t word = 0; word < directory.sharer_words(); ++word)
        for (uint32_t bit = 0; bit < 64; ++bit)
          if (directory.sharers(slot, word) >> bit & 1) found.insert(64 * word + bit);
      ASSERT_EQ(found, known ? sharers[line] : std::set<uint32_t>{}) << children;
      if (random() % 3 != 0) {
        directory.add_sharer(slot, child);
        sharers[line].insert(child);
        continue;
      }
      for (const uint32_t sharer : found) directory.remove_sharer(slot, sharer);
      directory.close(slot);
      sharers.erase(line);
    }
  }
}

}  // namespace
}  // namespace simrun::sim
