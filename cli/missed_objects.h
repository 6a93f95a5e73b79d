// Misses by the object that they were on, put down as they happen: blocks come and go at the same addresses.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/memory/address_space.h"
#include "sim/detail/line_table.h"

namespace simrun::cli {

struct ObjectCounts {
  std::array<uint64_t, sim::kMaxLevels> misses{};  // by level, from level 1
  uint64_t coherence_misses = 0;                   // in level 1
  uint64_t upgrades = 0;
  sim::LatencyCycles latency;
  uint64_t blocks = 0, bytes = 0;  // of the heap, or mapped, that any of these were in

  ObjectCounts& operator+=(const ObjectCounts& o);
};

// Blocks are counted together by who allocated them; of modules and thread-local memory each byte is by itself until
// somebody asks for names.
struct ObjectKey {
  uint32_t process = 0;
  bool is_code = false;
  analysis::Place place;
  bool operator==(const ObjectKey&) const = default;
};

struct ObjectKeyHash {
  size_t operator()(const ObjectKey& key) const {
    const uint64_t kinds = key.place.id * 16ull + static_cast<uint64_t>(key.place.kind) * 2 + key.is_code;
    return (key.place.offset * 0x9e3779b97f4a7c15u ^ kinds * 0xc2b2ae3d27d4eb4fu ^ uint64_t{key.process} << 40) >> 5;
  }
};

class MissedObjects {
 public:
  // `place`: of the first byte that was accessed; of a fetch, of the code.
  void add(uint32_t process, const analysis::AddressSpace& space, const analysis::Place& place, const sim::Miss& miss);

  // A block's place is the first that was seen of those with the same call site, at offset 0.
  const std::unordered_map<ObjectKey, ObjectCounts, ObjectKeyHash>& all() const { return objects_; }

 private:
  struct Blocks {
    std::vector<bool> seen;                       // by block
    std::unordered_map<uint32_t, uint32_t> first;  // by call site, a block of it
  };
  std::unordered_map<ObjectKey, ObjectCounts, ObjectKeyHash> objects_;
  std::vector<std::array<Blocks, 2>> blocks_;  // by process; of the heap, and mapped
};

}  // namespace simrun::cli
