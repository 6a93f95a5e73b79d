// How an encoder chooses what an exception changes (prediction.h). The format follows whatever is chosen.
//
// A word that is predicted wrongly twice in a row, or more often than its patience lasts, gets residues; when they stay
// the same for some time it gets a step instead, and more patience. Measured: docs/performance-tried.md, "The encoder".
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "traces/bytes.h"
#include "traces/prediction.h"

namespace simrun::traces {

// Bytes of a difference, zigzag, at least 1.
inline uint32_t bytes_of(uint64_t zigzag) { return static_cast<uint32_t>(std::bit_width(zigzag | 1) + 7) / 8; }

// Of one slot. Changes at exceptions and residues only: a right prediction costs nothing.
class WordPolicy {
 public:
  struct Choice {
    WordAction action;
    bool from_register;
  };

  // A residue that fits. `other`: the difference from the other base. True: better an exception than this residue.
  bool residue(uint64_t difference, uint64_t other, bool is_small) {
    same_ = difference == residue_ ? static_cast<uint8_t>(same_ + 1) : 0;
    other_same_ = other == other_ ? static_cast<uint8_t>(other_same_ + 1) : 0;
    small_ = is_small ? static_cast<uint8_t>(small_ + 1) : 0;
    residue_ = difference;
    other_ = other;
    return same_ >= kSame || other_same_ >= kSame || small_ > kSmall;
  }

  // The same for most of those: they fit, differ from those before and change nothing. False: nothing was done.
  bool plain_residue(uint32_t width, uint64_t residue, uint64_t difference, uint64_t other) {
    static constexpr uint64_t kLimit[] = {0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0, 0, 0, ~uint64_t{0}};
    static constexpr uint64_t kSmallBelow[] = {0, 0, 1 << 8, 1 << 16, 1 << 24, 0, 0, 0, uint64_t{1} << 32};
    if (residue > kLimit[width] || difference == residue_ || other == other_) return false;
    const uint32_t small = (small_ + 1u) & -uint32_t{residue < kSmallBelow[width]};
    if (small > kSmall) return false;
    same_ = other_same_ = 0;
    small_ = static_cast<uint8_t>(small);
    residue_ = difference;
    other_ = other;
    return true;
  }

  // For an exception that gives `value`.
  Choice choose(const WordSlot& slot, uint64_t value, uint64_t register_value) {
    const uint64_t from_last = value - slot.last, from_register = value - register_value;
    const bool on_register = slot.base != &slot.last;
    const bool nearer_register = size(from_register) < size(from_last);
    Choice choice{WordAction::kNone, nearer_register};
    if (slot.width == 0) {
      const uint64_t other = on_register ? from_last : from_register;
      if (!seen_)
        seen_ = true;
      else if (other == other_)
        choice = {WordAction::kExact, !on_register};
      else if (left_ != 0 && slot.last != last_exception_)
        --left_;
      else if (std::min(size(from_last), size(from_register)) <= 4)
        choice = {WordAction::kResidues, nearer_register};
      other_ = other;
    } else if (same_ >= kSame || other_same_ >= kSame) {
      choice = {WordAction::kExact, (same_ >= kSame) == on_register};
      patience_ = static_cast<uint8_t>(std::min(2 * patience_ + 1, 63));
      left_ = patience_;
      other_ = choice.from_register ? from_last : from_register;
    } else {
      choice = {WordAction::kResidues, nearer_register};
    }
    last_exception_ = value;
    same_ = other_same_ = small_ = 0;
    return choice;
  }

 private:
  static constexpr uint8_t kSame = 8, kSmall = 60;

  static uint32_t size(uint64_t difference) { return bytes_of(zigzag(static_cast<int64_t>(difference))); }

  uint64_t residue_ = 0, other_ = 0, last_exception_ = 0;
  uint8_t same_ = 0, other_same_ = 0, small_ = 0;
  uint8_t patience_ = 0, left_ = 0;
  bool seen_ = false;
};

}  // namespace simrun::traces
