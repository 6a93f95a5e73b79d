// Physical addresses without asking the host for them: pages get frames in the order in which they are touched first.
// Deterministic, and as dense as a machine's memory that holds this program alone.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/state_archive.h"

namespace simrun::sim {

class FirstTouch {
 public:
  // `page_shift`: binary logarithm of the lines of a page.
  explicit FirstTouch(uint32_t page_shift) : shift_(page_shift) {}
  uint64_t translate(uint64_t line) {
    const uint64_t page = line >> shift_;
    if (page != last_page_) {
      last_page_ = page;
      last_frame_ = frames_.try_emplace(page, frames_.size()).first->second;
    }
    return last_frame_ << shift_ | (line & ((uint64_t{1} << shift_) - 1));
  }
  void archive(StateArchive& a) {
    std::vector<uint64_t> numbers;  // page, frame
    for (const auto& [page, frame] : frames_) numbers.insert(numbers.end(), {page, frame});
    a.list(numbers);
    if (!a.reads()) return;
    frames_.clear();
    last_page_ = ~uint64_t{0};
    for (size_t i = 0; i + 1 < numbers.size(); i += 2) frames_[numbers[i]] = numbers[i + 1];
  }
  uint64_t pages() const { return frames_.size(); }

 private:
  uint32_t shift_;
  uint64_t last_page_ = ~uint64_t{0}, last_frame_ = 0;
  std::unordered_map<uint64_t, uint64_t> frames_;
};

}  // namespace simrun::sim
