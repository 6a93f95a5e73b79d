#include "cli/run_watch.h"

#include <algorithm>

#include "instr/channel/stream_error.h"
#include "sim/stats/broken_law.h"

namespace simrun::cli {

RunWatch::RunWatch(const sim::MachineConfig& machine, Model model, uint64_t interval, bool check)
    : machine_(machine),
      model_(std::move(model)),
      interval_(interval),
      checks_(check),
      next_interval_(interval != 0 ? interval : kNever),
      next_check_(check ? kCheckEvery : kNever),
      next_(std::min(next_interval_, next_check_)) {}

void RunWatch::look() {
  if (done_ >= next_interval_) {
    series_.take(done_, model_.statistics());
    next_interval_ = (done_ / interval_ + 1) * interval_;
  }
  if (done_ >= next_check_) {
    check();
    next_check_ = done_ + kCheckEvery;
  }
  next_ = std::min(next_interval_, next_check_);
}

void RunWatch::finish() {
  if (interval_ != 0) series_.take(done_, model_.statistics());
  if (checks_) check();
}

void RunWatch::check() {
  std::string why;
  if (model_.check_invariants(&why)) why = sim::find_broken_law(machine_, model_.statistics());
  if (!why.empty()) throw channel::StreamError("--check: the model is broken: " + why);
}

}  // namespace simrun::cli
