// Mattson's stack by the lines' own numbers.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "sim/curves/mattson_stack.h"

namespace simrun::sim {

class StackDistance {
 public:
  static constexpr uint64_t kFirst = MattsonStack::kFirst, kTakenAway = MattsonStack::kTakenAway;

  uint64_t access(uint64_t line) {
    const auto [known, is_new] = lines_.try_emplace(line, MattsonStack::kNoLine);
    if (is_new) known->second = stack_.add_line();
    return stack_.access(known->second);
  }
  void invalidate(uint64_t line) {
    if (const auto known = lines_.find(line); known != lines_.end()) stack_.invalidate(known->second);
  }
  const MattsonStack& stack() const { return stack_; }

 private:
  MattsonStack stack_;
  std::unordered_map<uint64_t, MattsonStack::Line> lines_;
};

}  // namespace simrun::sim
