// The predictions of files up to version 3, which are still read (docs/trace-format.md, "Versions").
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "traces/record.h"

namespace simrun::traces::version_3 {

// Next path by the last paths: a long memory first, then the last path alone.
class PathPredictor {
 public:
  // `paths`: ids below this exist.
  explicit PathPredictor(uint32_t paths) { reset(paths); }

  // As new, in the same memory.
  void reset(uint32_t paths) {
    bits_ = static_cast<uint32_t>(std::clamp<int>(static_cast<int>(std::bit_width(4 * uint64_t{paths})), 12, 18));
    by_history_.assign(size_t{1} << bits_, 0);
    by_last_.assign(size_t{1} << (bits_ - 2), 0);
    history_ = history_index_ = last_index_ = 0;
  }

  uint32_t first() const { return by_history_[history_index_]; }
  uint32_t second() const { return by_last_[last_index_]; }
  void learn(uint32_t id) {
    by_history_[history_index_] = id;
    by_last_[last_index_] = id;
    history_ = history_ << 20 ^ id;  // the last three and a little
    history_index_ = history_ * kMix >> (64 - bits_);
    last_index_ = id * kMix >> (66 - bits_);
  }

 private:
  static constexpr uint64_t kMix = 0x9e3779b97f4a7c15;

  uint32_t bits_ = 12;
  uint64_t history_ = 0;
  uint64_t history_index_ = 0, last_index_ = 0;
  std::vector<uint32_t> by_history_, by_last_;
};

// Next value of an address word: by its own last values (stride), or by how far it was from the value that the stream last
// gave for the same register.
class WordPredictor {
 public:
  explicit WordPredictor(uint32_t slots) { reset(slots); }

  // As new, in the same memory.
  void reset(uint32_t slots) {
    mask_ = std::bit_ceil(std::clamp<uint32_t>(slots, 1, 1u << 17)) - 1;
    slots_.assign(mask_ + 1, Slot{});
    registers_.fill(0);
  }

  struct Slot {
    uint64_t last;
    int64_t stride;
    int32_t candidate;     // the last difference, which becomes the stride when it comes twice
    int32_t delta_and_use;  // distance from the register's last value, times 2; lowest bit: predicts better than the stride
  };
  Slot& slot(uint32_t index) { return slots_[index & mask_]; }
  uint64_t& register_value(uint8_t r) { return registers_[r]; }

  static uint64_t by_stride(const Slot& s) { return s.last + static_cast<uint64_t>(s.stride); }
  static uint64_t by_register(const Slot& s, uint64_t register_value) {
    return register_value + static_cast<uint64_t>(int64_t{s.delta_and_use >> 1});
  }
  static bool prefers_register(const Slot& s) { return (s.delta_and_use & 1) != 0; }
  static void learn(Slot& s, uint64_t& register_value, uint64_t value, bool prefer_register) {
    const uint64_t difference = value - s.last;
    if (static_cast<int32_t>(difference) == s.candidate) s.stride = static_cast<int64_t>(difference);
    s.candidate = static_cast<int32_t>(difference);
    s.last = value;
    const auto delta = static_cast<uint32_t>(value - register_value);
    s.delta_and_use = static_cast<int32_t>(delta << 1 | static_cast<uint32_t>(prefer_register));
    register_value = value;
  }

 private:
  uint32_t mask_ = 0;
  std::vector<Slot> slots_;
  std::array<uint64_t, 17> registers_{};
};

}  // namespace simrun::traces::version_3
