// Places that called, with those that called them: each distinct stack of return addresses once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace simrun::analysis {

class CallSites {
 public:
  static constexpr size_t kMostFrames = 8;
  static constexpr uint32_t kUnknown = 0;

  // `frames`: return addresses, the innermost first; more than kMostFrames are cut.
  uint32_t intern(std::span<const uint64_t> frames) {
    std::vector<uint64_t> key(frames.begin(),
                              frames.begin() + static_cast<std::ptrdiff_t>(std::min(frames.size(), kMostFrames)));
    if (key.empty()) return kUnknown;
    const auto [at, is_new] = ids_.emplace(std::move(key), static_cast<uint32_t>(by_id_.size()));
    if (is_new) by_id_.push_back(at->first);
    return at->second;
  }
  const std::vector<uint64_t>& frames(uint32_t id) const { return by_id_[id]; }
  // Addresses may mean other code from now on: what is interned next has an id of its own.
  void begin_anew() { ids_.clear(); }

 private:
  std::map<std::vector<uint64_t>, uint32_t> ids_;
  std::vector<std::vector<uint64_t>> by_id_{{}};
};

}  // namespace simrun::analysis
