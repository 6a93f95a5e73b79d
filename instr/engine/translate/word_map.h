// Value numbering of the general registers within one superblock: which register values are in the stream already, and at which
// known distance. A superblock's operands share words through it (ARCHITECTURE.md, section 4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "instr/border/descriptors.h"
#include "instr/engine/decode/instruction.h"

namespace simrun::engine {

class WordMap {
 public:
  // Before anything else, for each superblock. What no value has yet stays as it is: all of it is 10 KiB.
  void start(bool share) {
    share_ = share;
    words_ = 0;
    next_id_ = 0;
    for (Value& v : values_) v = new_value();
  }

  struct Use {
    uint16_t word;      // index counted from the block word
    int64_t add;        // register value = word + add
    bool store_now;     // the caller must store the register's current value as word `word`
  };

  // The value of register r before the current instruction.
  Use use(uint8_t r) {
    const Value v = values_[r];
    if (share_ && word_of_[v.id] != border::kNoWord) return {word_of_[v.id], v.delta - stored_delta_[v.id], false};
    word_of_[v.id] = words_ + 1;
    stored_delta_[v.id] = v.delta;
    return {++words_, 0, true};
  }

  // Reserves `n` words that share nothing; returns the index of the first.
  uint16_t reserve(uint32_t n) {
    const uint16_t first = static_cast<uint16_t>(words_ + 1);
    words_ = static_cast<uint16_t>(words_ + n);
    return first;
  }

  // Address words so far.
  uint16_t words() const { return words_; }

  // The instruction has executed: its register writes make new values.
  void step(const Instruction& i) {
    Value known{};
    const bool distance = i.distance_dest != kNoRegister;
    if (distance) known = {values_[i.distance_source].id, values_[i.distance_source].delta + i.distance_delta};
    for (GprSet w = i.gpr_written; w != 0; w &= static_cast<GprSet>(w - 1))
      values_[static_cast<uint8_t>(__builtin_ctz(w))] = new_value();
    if (distance) values_[i.distance_dest] = known;
  }

 private:
  struct Value {
    uint16_t id;
    int64_t delta;
  };
  Value new_value() {
    word_of_[next_id_] = border::kNoWord;
    return {next_id_++, 0};
  }
  // At most 16 new values per instruction, 64 instructions.
  static constexpr size_t kMaxValues = 16 + 16 * 64;
  std::array<Value, 16> values_;
  std::array<uint16_t, kMaxValues> word_of_;
  std::array<int64_t, kMaxValues> stored_delta_;
  uint16_t next_id_;
  uint16_t words_ = 0;
  bool share_;
};

}  // namespace simrun::engine
