// dispatch/address_map.h against std::unordered_map, with addresses that collide, erased ones and growth.
#include "instr/engine/dispatch/address_map.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace simrun::engine {
namespace {

TEST(AddressMap, EqualsTheStandardMap) {
  AddressMap map;
  std::unordered_map<uint64_t, uint32_t> expected;
  std::mt19937_64 random(1);
  for (uint32_t step = 0; step < 200'000; ++step) {
    const uint64_t address = 0x7f0000000000 + (random() % 20'000) * (step % 2 == 0 ? 1 : 1 << 20);
    if (random() % 4 == 0) {
      map.erase(address);
      expected.erase(address);
    } else {
      map.set(address, step);
      expected[address] = step;
    }
    const uint64_t other = 0x7f0000000000 + random() % 20'000;
    const auto found = expected.find(other);
    ASSERT_EQ(map.find(other), found == expected.end() ? AddressMap::kNone : found->second) << step;
  }
  for (const auto& [address, index] : expected) ASSERT_EQ(map.find(address), index);
  map.clear();
  for (const auto& entry : expected) ASSERT_EQ(map.find(entry.first), AddressMap::kNone);
}

}  // namespace
}  // namespace simrun::engine
