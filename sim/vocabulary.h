// The words of the cache model: what a reference is, what a line's state is. Everything else in sim/ includes this
// file; it includes nothing of the project.
//
// A line number is a byte address divided by the line size, as a plain 64-bit number; a caller that simulates several
// address spaces puts the space's id into its top bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simrun::sim {

enum class Access : uint8_t {
  kFetch,  // instruction fetch
  kLoad,
  kStore,
  kReadModifyWrite,  // one access, a write
  kPrefetch,         // software prefetch: a read into the data side, counted apart from demand accesses
  kFlush,            // clflush: the line leaves every cache
};
inline constexpr size_t kAccessKinds = 6;

constexpr size_t index(Access kind) { return static_cast<size_t>(kind); }
// As bits rather than comparisons: kinds come in no order that a branch predictor could learn.
constexpr bool is_write(Access kind) { return (0b001100u >> index(kind)) & 1; }
static_assert(is_write(Access::kStore) && is_write(Access::kReadModifyWrite) && !is_write(Access::kLoad) &&
              !is_write(Access::kFetch) && !is_write(Access::kPrefetch) && !is_write(Access::kFlush));

// Cache levels between a core and memory, at most.
inline constexpr size_t kMaxLevels = 8;

// No line has this number, as a line has at least two bytes.
inline constexpr uint64_t kNoLine = ~uint64_t{0};

// A line as one cache of the tree sees it: Exclusive and Modified say that no cache outside this cache's subtree holds
// it. Owned and Modified say that this cache's own copy is newer than the next level's.
enum class State : uint8_t { kInvalid, kShared, kOwned, kExclusive, kModified };

constexpr bool is_exclusive(State state) { return state >= State::kExclusive; }
constexpr bool is_dirty(State state) { return state == State::kOwned || state == State::kModified; }
constexpr State make_state(bool exclusive, bool dirty) {
  return exclusive ? (dirty ? State::kModified : State::kExclusive) : (dirty ? State::kOwned : State::kShared);
}

// Why a line left a cache.
enum class Loss : uint8_t {
  kEvicted,           // replaced to make room
  kCoherence,         // another cache wants to write it
  kUpgrade,           // the same, and that has it already: no data moves
  kBackInvalidation,  // an inclusive cache toward memory evicted it
  kFlush,             // a flush instruction
  kMoved,             // an exclusive cache gave it to a cache nearer the core
};

constexpr bool is_invalidation(Loss loss) { return loss == Loss::kCoherence || loss == Loss::kUpgrade; }

// Which references a cache of a split level takes.
enum class Side : uint8_t { kUnified, kInstruction, kData };

}  // namespace simrun::sim
