// The predictions that encoder and decoder make in step, for one thread within one chunk: which path comes next, and
// which value an address word has. Both sides learn the same things in the same order, so a right prediction costs
// nothing but a run that goes on. docs/trace-format.md, "Prediction", defines each rule; a change here is a new version
// of the format.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "traces/record.h"

namespace simrun::traces {

// Next path by the last paths: a long memory first, then the last path alone, which learns where the first was wrong.
class PathPredictor {
 public:
  // The paths that came before. A local variable of who goes through them.
  struct Past {
    uint64_t history = 0;  // the last three and a little
    uint64_t index = 0;    // of the first prediction
    uint64_t last = 0;
  };

  // As new, in the same memory. `paths`: ids below this exist.
  void reset(uint32_t paths) {
    const int bits = std::clamp<int>(std::bit_width(4 * uint64_t{paths}), 12, 18);
    by_history_.assign(size_t{1} << bits, 0);
    by_last_.assign(size_t{1} << (bits - 2), 0);
    shift_ = static_cast<uint32_t>(64 - bits);
  }

  uint32_t first(const Past& past) const { return by_history_[past.index]; }
  uint32_t second(const Past& past) const { return by_last_[past.last * kMix >> (shift_ + 2)]; }
  void learn_miss(const Past& past, uint32_t id) {
    by_history_[past.index] = by_last_[past.last * kMix >> (shift_ + 2)] = id;
  }
  // Whether the prediction was right or wrong.
  void follow(Past& past, uint32_t id) const {
    past.history = past.history << 20 ^ id;
    past.index = past.history * kMix >> shift_;
    past.last = id;
  }

 private:
  static constexpr uint64_t kMix = 0x9e3779b97f4a7c15;

  std::vector<uint32_t> by_history_, by_last_;
  uint32_t shift_ = 52;
};

// What is known of an address word. It is predicted as *base + step; with a width, a residue of so many bytes is added,
// each time. A wrong prediction (or a residue of more bytes) is an exception, which may change everything but `last`.
struct WordSlot {
  uint64_t last;
  uint64_t step;
  const uint64_t* base;  // `last`, or the value that was last given for a register
  uint32_t width;        // bytes of the residues; 0: there are none
  uint32_t in_register;  // whose value the word is, where no two words share a slot
};
static_assert(sizeof(WordSlot) == 32);

class WordSlots {
 public:
  WordSlots() = default;
  WordSlots(const WordSlots&) = delete;  // bases point into it
  WordSlots& operator=(const WordSlots&) = delete;

  // As new, in the same memory. `slots`: of the superblocks known, `register_of` each.
  void reset(uint32_t slots, const uint8_t* register_of) {
    are_shared_ = slots > kMostSlots;
    mask_ = std::bit_ceil(std::clamp<uint32_t>(slots, 1, kMostSlots)) - 1;
    slots_.resize(std::max<size_t>(slots_.size(), mask_ + 1));
    const uint32_t used = are_shared_ ? mask_ + 1 : slots;
    for (uint32_t k = 0; k < used; ++k) slots_[k] = {0, 0, &slots_[k].last, 0, register_of[k]};
    std::ranges::fill(registers_, 0);
  }

  bool are_shared() const { return are_shared_; }

  WordSlot* slots() { return slots_.data(); }
  uint32_t mask() const { return mask_; }
  uint64_t* registers() { return registers_; }

 private:
  static constexpr uint32_t kMostSlots = 1u << 17;

  uint32_t mask_ = 0;
  bool are_shared_ = false;
  std::vector<WordSlot> slots_;
  uint64_t registers_[kOtherWord + 1] = {};
};

// The code of an exception: the bytes of the difference that follows (less one), from which value it is, what changes.
enum class WordAction : uint8_t { kNone, kExact, kResidues };
inline constexpr uint8_t kFromRegister = 8, kActionShift = 4;
inline constexpr uint32_t kWidths[] = {1, 2, 3, 4, 8}, kMostWidth = 8;

constexpr uint32_t width_for(uint32_t bytes) { return bytes > 4 ? 8 : bytes; }

// Puts the action into effect: `from` is what the difference was taken from, `bytes` what it takes.
inline void act(WordSlot& slot, WordAction action, const uint64_t* from, uint64_t difference, uint32_t bytes) {
  if (action == WordAction::kNone) return;
  slot.base = from;
  slot.step = action == WordAction::kExact ? difference : 0;
  slot.width = action == WordAction::kExact ? 0 : width_for(bytes);
}

}  // namespace simrun::traces
