// What a process has for each of its threads, by their indices, which count the threads of all processes: the first ones
// cost nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace simrun::cli {

template <class T>
class ByThread {
 public:
  // A new one is T{}. Valid until another one is asked for.
  T& operator[](uint32_t thread) {
    if (thread - first_ < all_.size()) [[likely]]  // also not below the first
      return all_[thread - first_];
    return add(thread);
  }
  size_t size() const { return all_.size(); }

 private:
  T& add(uint32_t thread) {
    if (all_.empty()) first_ = thread;
    if (thread < first_) {
      std::vector<T> more(first_ - thread + all_.size());
      for (size_t k = 0; k < all_.size(); ++k) more[first_ - thread + k] = std::move(all_[k]);
      all_ = std::move(more);
      first_ = thread;
    }
    if (thread - first_ >= all_.size()) all_.resize(thread - first_ + size_t{1});
    return all_[thread - first_];
  }

  std::vector<T> all_;
  uint32_t first_ = 0;
};

}  // namespace simrun::cli
