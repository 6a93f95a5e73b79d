// Counts by number, few of which are not zero. Those are marked by bits, so that they come in the order of their
// numbers without being sorted (a twelfth of the reader's part of a profile of cc1plus).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace simrun::cli {

class SparseCounts {
 public:
  bool empty() const { return !any_; }
  // All numbers that were ever added to are below it.
  size_t size() const { return counts_.size(); }

  void add(uint32_t number, uint64_t count) {
    if (number >= counts_.size()) [[unlikely]]
      grow(number);
    counts_[number] += count;
    marks_[number / 64] |= uint64_t{1} << number % 64;
    any_ = true;
  }

  // f(number), of those that were added to, ascending.
  template <class F>
  void for_each(F f) const {
    if (empty()) return;
    for (size_t word = 0; word < marks_.size(); ++word)
      for (uint64_t marks = marks_[word]; marks != 0; marks &= marks - 1)
        f(static_cast<uint32_t>(word * 64 + static_cast<size_t>(std::countr_zero(marks))));
  }

  // f(number, count), the same; all are zero then.
  template <class F>
  void take(F f) {
    for_each([&](uint32_t number) { f(number, std::exchange(counts_[number], 0)); });
    if (!empty()) std::fill(marks_.begin(), marks_.end(), 0);
    any_ = false;
  }

 private:
  void grow(uint32_t number) {
    counts_.resize(2 * size_t{number} + 64);
    marks_.resize(counts_.size() / 64 + 1);
  }

  std::vector<uint64_t> counts_;
  std::vector<uint64_t> marks_;
  bool any_ = false;
};

}  // namespace simrun::cli
