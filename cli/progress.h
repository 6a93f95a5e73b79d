// The progress line: on a terminal, once a second, gone when the run ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace simrun::cli {

class Progress {
 public:
  // `wanted` false, or standard error no terminal: never prints. `stage`: what it is the progress of; empty: of all. `all`: about how many
  // instructions there will be; 0: not known.
  explicit Progress(bool wanted, std::string stage = {}, uint64_t all = 0);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // True when a second has passed since the last line; then show().
  bool due();
  // What is 0 is not known, or not counted, and left out. `all`: as above, if it is known only now.
  void show(uint64_t instructions, uint64_t references, uint64_t threads, uint64_t all = 0);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool on_;
  const std::string stage_;
  const uint64_t all_;
  bool shown_ = false;
  Clock::time_point start_, last_;
  uint64_t last_instructions_ = 0;
};

}  // namespace simrun::cli
