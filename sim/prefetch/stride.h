// Strides by instruction (Chen and Baer, IEEE Transactions on Computers 1995): a table of the last line and stride of
// each instruction, 256 entries found by the low bits of its address; two equal strides in a row, and it prefetches.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "sim/build/machine_config.h"

namespace simrun::sim::prefetch {

class Stride {
 public:
  explicit Stride(const PrefetchConfig& config) : config_(config) {}
  // What is kept of an instruction: of the last of those that share the place.
  struct Entry {
    uint64_t pc = kNone, line = 0;
    uint64_t next = kNone;  // by the stride of its last two lines; kNone: it had one only
  };
  static constexpr uint64_t kNone = ~uint64_t{0};  // no instruction's address, no line
  // For who does by himself what notes() does (cli/path_emitter.cpp). Valid as long as this.
  Entry* entries() { return entries_.data(); }
  static size_t place_of(uint64_t pc) { return pc % kEntries; }

  // observe() would change nothing and want nothing.
  bool knows(uint64_t line, uint64_t pc) const {
    const Entry& e = entries_[place_of(pc)];
    return ((e.pc ^ pc) | (e.line ^ line)) == 0;
  }
  // Of these lines (one or two) in turns, again and again, notes() would be true and change nothing in the end.
  bool stays_at(std::span<const uint64_t> turns, uint64_t pc) const {
    const Entry& e = entries_[place_of(pc)];
    const uint64_t first = turns.front(), last = turns.back();
    return e.pc == pc && e.line == last && (first == last || e.next == 2 * last - first);
  }
  // observe(), if that wants nothing; else false, and nothing has changed.
  bool notes(uint64_t line, uint64_t pc) {
    Entry& e = entries_[place_of(pc)];
    if (e.pc != pc) {
      e = {pc, line};
      return true;
    }
    if (line == e.line) return true;
    if (line == e.next) return false;
    e.next = 2 * line - e.line, e.line = line;
    return true;
  }
  template <class Want>
  void observe(uint64_t line, uint64_t pc, bool /*is_new*/, Want want) {
    if (notes(line, pc)) return;
    Entry& e = entries_[place_of(pc)];
    const uint64_t stride = line - e.line;
    e.line = line, e.next = line + stride;
    for (uint32_t i = 0; i < config_.degree; ++i) want(line + stride * (config_.distance + i));
  }

 private:
  static constexpr uint64_t kEntries = 256;
  PrefetchConfig config_;
  std::array<Entry, kEntries> entries_{};
};

}  // namespace simrun::sim::prefetch
