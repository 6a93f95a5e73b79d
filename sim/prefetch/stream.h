// Streams of misses that go up or down (Jouppi, ISCA 1990; Palacharla and Kessler, ISCA 1994): 16 of them, the one that
// was used longest ago makes room. A miss within 4 lines of a stream's last one continues it; the second step in one
// direction makes it prefetch.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/build/machine_config.h"

namespace simrun::sim::prefetch {

class Stream {
 public:
  explicit Stream(const PrefetchConfig& config) : config_(config) {}
  void observe(uint64_t line, uint64_t /*pc*/, bool is_new, std::vector<uint64_t>& wanted) {
    if (!is_new) return;
    ++now_;
    Entry* oldest = &entries_[0];
    for (Entry& e : entries_) {
      const auto step = static_cast<int64_t>(line - e.line);
      if (e.used != 0 && step != 0 && step >= -kWindow && step <= kWindow) return go_on(e, line, step, wanted);
      if (e.used < oldest->used) oldest = &e;
    }
    *oldest = {now_, line, 0};
  }

 private:
  static constexpr int64_t kWindow = 4;
  struct Entry {
    uint64_t used = 0;  // 0: empty
    uint64_t line = 0;
    int64_t direction = 0;  // 0: one miss only
  };
  void go_on(Entry& e, uint64_t line, int64_t step, std::vector<uint64_t>& wanted) {
    const int64_t direction = step > 0 ? 1 : -1;
    const bool sure = e.direction == direction;
    e = {now_, line, direction};
    if (!sure) return;
    for (uint32_t i = 0; i < config_.degree; ++i)
      wanted.push_back(line + static_cast<uint64_t>(direction * static_cast<int64_t>(config_.distance + i)));
  }

  PrefetchConfig config_;
  uint64_t now_ = 0;
  std::array<Entry, 16> entries_{};
};

}  // namespace simrun::sim::prefetch
