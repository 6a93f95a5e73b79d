// What happens to a model now and then during a run: the counts of an interval are noted, its state is checked.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "sim/build/machine_config.h"
#include "sim/stats/interval_series.h"

namespace simrun::cli {

class RunWatch {
 public:
  struct Model {
    std::function<sim::Statistics()> statistics;
    std::function<bool(std::string*)> check_invariants;
  };
  // `interval`: instructions of all threads, 0: none. `check`: balances and invariants, every 100 million instructions.
  RunWatch(const sim::MachineConfig& machine, Model model, uint64_t interval, bool check);

  // What was counted until now warmed the caches.
  void begin() { series_.begin(model_.statistics()); }
  // Throws channel::StreamError when a check fails.
  void advance(uint64_t instructions) {
    done_ += instructions;
    if (done_ >= next_) [[unlikely]]
      look();
  }
  // In instructions: how far it is, and when it has something to do.
  uint64_t done() const { return done_; }
  uint64_t next() const { return next_; }
  // The end of the run.
  void finish();
  const std::vector<sim::Interval>& intervals() const { return series_.intervals(); }

 private:
  static constexpr uint64_t kCheckEvery = 100'000'000;
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  void look();
  void check();

  const sim::MachineConfig& machine_;
  Model model_;
  uint64_t interval_;
  bool checks_;
  uint64_t done_ = 0, next_interval_, next_check_, next_;
  sim::IntervalSeries series_;
};

// The counts of a model since it was warm.
class CountedSince {
 public:
  void begin(sim::Statistics now) { before_ = std::move(now); }
  sim::Statistics of(sim::Statistics now) const {
    if (before_) now -= *before_;
    return now;
  }

 private:
  std::optional<sim::Statistics> before_;
};

}  // namespace simrun::cli
