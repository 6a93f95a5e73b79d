// The part of a run that is simulated: a region (traces/region.h), whose first instructions may warm the caches without being
// counted. What lies outside is executed and counted by the merge, but its references go nowhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cli/inner_sink.h"
#include "cli/live_code.h"
#include "cli/region_options.h"
#include "cli/region_threads.h"
#include "cli/run_result.h"
#include "instr/channel/counting_sink.h"
#include "instr/channel/merge.h"
#include "traces/region.h"

namespace simrun::cli {

class RunWindow {
 public:
  // `warm_up`: instructions. Without bounds and without a warm-up everything is counted, and nothing of this costs anything.
  RunWindow(const RegionOptions& options, uint64_t warm_up, host::Family& family);

  // Called once: before the first path that is counted, or at the end if there was none.
  void set_on_begin(std::function<void()> on_begin) { on_begin_ = std::move(on_begin); }

  bool is_whole() const { return !tracker_; }
  // References are wanted.
  bool inside() const { return !tracker_ || tracker_->inside(); }
  // ... and counted.
  bool counts() const { return !tracker_ || (counts_ && tracker_->inside()); }
  bool wants_each_path() const { return tracker_ && tracker_->waits_for_code(); }
  // Instructions until the window may open or close, or its warm-up end.
  uint64_t until_change() const {
    if (!tracker_) return std::numeric_limits<uint64_t>::max();
    if (!tracker_->inside() || counts_ || warm_at() <= tracker_->now()) return tracker_->until_bound();
    return std::min(tracker_->until_bound(), warm_at() - tracker_->now());
  }

  // As the sink's.
  void start_thread(const channel::ThreadReport& report);
  void run_on(const channel::ThreadReport& report) {
    if (tracker_) threads_.run_on(report, counts());
  }
  void forget_process(uint32_t process) { code_.forget_process(process); }
  void forget_paths(uint32_t process);
  void event(channel::MergeThread& thread, std::span<const uint64_t> words);

  // Paths of `thread` follow: as many together as until_change() allows, told of by took(), or each by itself, by enter().
  void before_paths(channel::MergeThread& thread) {
    if (!tracker_ || tracker_->waits_for_code()) return;
    tracker_->look_at_counts();
    pass(thread, tracker_->now());
  }
  void took(channel::MergeThread& thread, uint64_t words, uint64_t instructions) {
    if (!tracker_) return;
    tracker_->advance(instructions);
    if (counts()) threads_.enter(thread, words, instructions);
  }
  void enter(channel::MergeThread& thread, uint64_t word, uint64_t words, uint64_t instructions) {
    tracker_->step(thread.report.index, thread.process, code_.of(thread), static_cast<uint32_t>(word), static_cast<uint32_t>(instructions));
    pass(thread, tracker_->now() - instructions);
    if (counts()) threads_.enter(thread, words, instructions);
  }

  // The program has ended: what of the result lies in the window, and what is to be said of it.
  void finish(RunResult& result, uint32_t cores);

 private:
  // Where the warm-up ends: behind the region's start as it was asked for, or where the code that starts it came.
  uint64_t warm_at() const { return (starts_at_count_ ? *starts_at_count_ : tracker_->started_at()) + warm_up_; }
  // `thread` goes on `now`, in instructions of all threads.
  void pass(channel::MergeThread& thread, uint64_t now) {
    if (tracker_->inside()) {
      if (!counts_) [[unlikely]]
        warm_up(thread, now);
      if (counts_) threads_.enter(thread, 0, 0);
    } else if (tracker_->over()) {
      leave(thread);
    }
  }
  void warm_up(channel::MergeThread& thread, uint64_t now);
  void leave(const channel::MergeThread& thread);

  const RegionOptions options_;
  const uint64_t warm_up_;
  host::Family& family_;
  std::optional<traces::RegionTracker> tracker_;  // none: the whole run
  std::optional<uint64_t> starts_at_count_;  // instructions
  bool needs_code_ = false;
  LiveCode code_;
  RegionThreads threads_;
  std::function<void()> on_begin_;
  std::vector<bool> warmed_;  // by thread: it has been in the warm-up
  bool counts_ = false, stopped_ = false;
  uint64_t counts_from_ = 0;
};

// In front of `Inner`, a sink, which gets the references of the window, and all that happens to memory, processes and cores.
template <class Inner>
class WindowSink final {
 public:
  static constexpr bool kWantsReferences = Inner::kWantsReferences;
  static constexpr bool kWantsPc = channel::kSinkWantsPc<Inner>;
  // Both must outlive this.
  WindowSink(Inner& inner, RunWindow& window) : inner_(inner), window_(window) {}

  uint32_t start_thread(const channel::ThreadReport& report) {
    window_.start_thread(report);
    return inner_.start_thread(report);
  }
  uint32_t run_on(const channel::ThreadReport& report) {
    window_.run_on(report);
    return handle_on(inner_, report);
  }
  void event(uint32_t handle, border::Event event, std::span<const uint64_t> payload) { tell(inner_, handle, event, payload); }
  void event(channel::MergeThread& thread, std::span<const uint64_t> words) {
    window_.event(thread, words);
    if (window_.counts()) counted_ += LiveCode::instructions_of(words);
  }
  void forget_process(uint32_t process) {
    window_.forget_process(process);
    forget_in(inner_, process);
  }
  void forget_paths(uint32_t process) {
    window_.forget_paths(process);
    inner_.forget_paths(process);
  }

  void before_paths(channel::MergeThread& thread) {
    pass_on();
    window_.before_paths(thread);
  }
  uint64_t until_stop() const {
    uint64_t until = window_.until_change();
    if constexpr (channel::SaysWhenToStop<Inner>) until = std::min(until, inner_.until_stop());  // counting may begin amid paths
    return until;
  }
  template <class Take>
  [[gnu::always_inline]] bool take_together(uint32_t handle, Take take) requires(!channel::HearsOfEachPath<Inner>) {
    if (window_.wants_each_path()) [[unlikely]]
      return false;
    together_ = window_.inside() ? take_inside(handle, take) : count_outside(take);
    return together_;
  }
  bool makes_later(uint32_t handle) requires channel::MakesLater<Inner> {
    together_ = window_.inside() && !window_.wants_each_path() && inner_.makes_later(handle);
    return together_;
  }
  void make_later(channel::DecodedPaths& paths, const channel::ReplayState& before, std::span<const uint64_t> words)
    requires channel::MakesLater<Inner>
  {
    inner_.make_later(paths, before, words);
  }
  void lose_paths(uint32_t process) requires channel::MakesLater<Inner> { inner_.lose_paths(process); }
  bool enter_path(channel::MergeThread& thread, const uint64_t* words, const channel::PathTable& paths) {
    const uint64_t instructions = paths[*words].instructions;
    if (window_.is_whole()) {
      counted_ += instructions;
      return true;
    }
    if (window_.wants_each_path()) {
      window_.enter(thread, *words, paths.length(*words), instructions);
    } else {
      window_.before_paths(thread);
      window_.took(thread, paths.length(*words), instructions);
    }
    if (window_.counts()) counted_ += instructions;
    return window_.inside();
  }
  void words(channel::MergeThread& thread, const uint64_t* from, const uint64_t* to, uint64_t /*paths*/, uint64_t instructions) {
    if (std::exchange(together_, false)) {
      if (window_.counts()) counted_ += instructions;
      window_.took(thread, static_cast<uint64_t>(to - from), instructions);
    }
    pass_on();
  }
  // The program has ended.
  void finish() { pass_on(); }

  void begin_path(uint32_t handle, uint64_t instructions) requires channel::HearsOfBeginnings<Inner> {
    if (window_.inside()) inner_.begin_path(handle, instructions);
  }
  void after_path(uint32_t handle, const uint64_t* words, const channel::PathTable& paths)
    requires requires(Inner& s, const uint64_t* w, const channel::PathTable& p) { s.after_path(0u, w, p); }
  {
    inner_.after_path(handle, words, paths);
  }
  void plain(uint32_t handle, const channel::PlainReferences& path) requires channel::TakesPaths<Inner> {
    if (window_.inside()) inner_.plain(handle, path);
  }
  uint64_t iterations(uint32_t handle, std::span<const channel::StringReference> first, int64_t step, uint64_t most, uint64_t pc)
    requires channel::TakesIterations<Inner>
  {
    return window_.inside() ? inner_.iterations(handle, first, step, most, pc) : most;
  }
  void fetch(uint32_t handle, uint64_t line, auto... pc) {
    if (window_.inside()) inner_.fetch(handle, line, pc...);
  }
  void data(uint32_t handle, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, auto... pc) {
    if (window_.inside()) inner_.data(handle, kind, address, bytes, pc...);
  }

 private:
  // `inner_` is told of instructions when it has had their references: of those that a fault cut, too.
  void pass_on() {
    const uint64_t counted = std::exchange(counted_, 0);
    if constexpr (requires { inner_.advance(counted); })
      if (counted != 0) inner_.advance(counted);
  }
  template <class Take>
  [[gnu::noinline]] static bool count_outside(Take take) {
    return channel::CountingSink().take_together(0, take);
  }
  template <class Take>
  [[gnu::always_inline]] bool take_inside(uint32_t handle, Take take) {
    if constexpr (channel::TakesTogether<Inner>)
      return inner_.take_together(handle, take);
    else
      return false;
  }

  Inner& inner_;
  RunWindow& window_;
  bool together_ = false;
  uint64_t counted_ = 0;  // instructions since `inner_` was told of some
};

}  // namespace simrun::cli
