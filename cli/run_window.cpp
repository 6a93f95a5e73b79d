#include "cli/run_window.h"

#include <fmt/format.h>

#include "cli/report.h"

namespace simrun::cli {

namespace {

std::optional<uint64_t> count_of(const std::string& bound) {
  if (bound.empty()) return 0;
  const traces::RegionBound parsed = traces::parse_region_bound(bound);
  if (parsed.kind != traces::RegionBound::Kind::kInstructions) return {};
  return parsed.count;
}

}  // namespace

RunWindow::RunWindow(const RegionOptions& options, uint64_t warm_up, host::Family& family)
    : options_(options), warm_up_(warm_up), family_(family), code_(family) {
  if (!options.any() && warm_up == 0) return;
  tracker_.emplace(region_tracker(options));
  counts_ = options.from.empty() && warm_up == 0;
  starts_at_count_ = count_of(options.from);
  needs_code_ = !starts_at_count_ || !count_of(options.to);
  code_.set_on_module([this](const traces::Module& module) { tracker_->add_module(module); });
}

void RunWindow::start_thread(const channel::ThreadReport& report) {
  if (!needs_code_) return;
  while (code_.processes() <= report.process) {
    const uint32_t index = code_.processes();
    code_.meet();
    code_.describe(index);
    code_.tell_modules(index);
  }
}

void RunWindow::forget_paths(uint32_t process) {
  if (!needs_code_) return;
  code_.forget_paths(process);
  tracker_->forget_paths(process);
}

void RunWindow::event(channel::MergeThread& thread, std::span<const uint64_t> words) {
  if (!tracker_) return;
  if (needs_code_) code_.look_at(thread, words);
  const uint64_t instructions = LiveCode::instructions_of(words);
  if (tracker_->over()) leave(thread);
  tracker_->advance(instructions);
  if (counts()) threads_.enter(thread, words.size(), instructions);  // a warm-up ends before a path
}

void RunWindow::warm_up(channel::MergeThread& thread, uint64_t now) {
  const uint32_t index = thread.report.index;
  if (index >= warmed_.size()) warmed_.resize(index + 1);
  if (!warmed_[index]) thread.replay.last_line = std::numeric_limits<uint64_t>::max();
  warmed_[index] = true;
  if (now < warm_at()) return;
  counts_ = true;
  counts_from_ = now;
  if (on_begin_) std::exchange(on_begin_, nullptr)();
}

void RunWindow::leave(const channel::MergeThread& thread) {
  if (!threads_.leave(thread) || !options_.stop || std::exchange(stopped_, true)) return;
  family_.end_all();
}

void RunWindow::finish(RunResult& result, uint32_t cores) {
  if (!tracker_) return;
  result.threads = threads_.in_region(result.threads);
  if (cores != 0) result.cores = threads_.cores_in_region(result.threads, cores);
  RegionReport& region = result.region.emplace(region_report(options_, *tracker_));
  region.warm_up = warm_up_;
  if (counts_) region.first = counts_from_;
  region.stopped = stopped_;
  if (stopped_) {  // killed behind the region, nothing of which is missing
    for (channel::ThreadReport& thread : result.threads) thread.cut_off = false;
    result.signal = result.exit_code = 0;
  }
  std::string nothing = why_region_is_empty(options_, *tracker_);
  if (!counts_ && on_begin_) on_begin_();  // all that there is warmed the caches
  if (nothing.empty() && result.totals().instructions == 0)
    nothing = fmt::format("the {} ended within the warm-up, {} instructions behind the start of the region", region.reached_its_end && !region.to.empty() ? "region" : "program",
                          grouped(region.last - tracker_->started_at()));
  if (!nothing.empty() && result.error.empty()) result.error = say_nothing("simulated", nothing, result);
  if (nothing.empty()) warn_of_missing_end(options_, *tracker_, result);
}

}  // namespace simrun::cli
