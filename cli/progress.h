// The progress line: on a terminal, once a second, gone when the run ends.
#pragma once

#include <chrono>
#include <cstdint>

namespace simrun::cli {

class Progress {
 public:
  // `wanted` false, or standard error no terminal: never prints.
  explicit Progress(bool wanted);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // True when a second has passed since the last line; then show().
  bool due();
  // What is 0 is not known, or not counted, and left out. `all`: how many instructions there will be.
  void show(uint64_t instructions, uint64_t references, uint64_t threads, uint64_t all = 0);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool on_;
  bool shown_ = false;
  Clock::time_point start_, last_;
  uint64_t last_instructions_ = 0;
};

}  // namespace simrun::cli
