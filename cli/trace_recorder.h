// A sink that writes the streams into a trace, whole or a region, and passes what lies in the region on to another sink (a
// cache model, or nothing).
#pragma once

#include <functional>
#include <span>
#include <utility>

#include "cli/inner_sink.h"
#include "cli/live_trace.h"
#include "cli/region_threads.h"
#include "traces/region.h"

namespace simrun::cli {

// The whole execution. `Inner` is a sink; it gets every call.
template <class Inner>
class WholeRecorder final {
 public:
  static constexpr bool kWantsReferences = Inner::kWantsReferences;
  static constexpr bool kWantsPc = channel::kSinkWantsPc<Inner>;
  WholeRecorder(traces::Writer& writer, host::Family& family, Inner& inner)
      : live_(family, writer, LiveTrace::Code::kAll), inner_(inner) {}

  uint32_t start_thread(const channel::ThreadReport& report) {
    live_.start_thread(report);
    return inner_.start_thread(report);
  }
  uint32_t run_on(const channel::ThreadReport& report) {
    live_.run_on(report);
    return handle_on(inner_, report);
  }
  void words(channel::MergeThread& thread, const uint64_t* from, const uint64_t* to, uint64_t paths,
             uint64_t instructions) {
    live_.add_paths(thread, {from, to}, paths, instructions);
  }
  template <class Take>
  [[gnu::always_inline]] bool take_together(uint32_t handle, Take take) requires channel::TakesTogether<Inner> {
    return inner_.take_together(handle, take);
  }
  void event(channel::MergeThread& thread, std::span<const uint64_t> words) {
    live_.look_at(thread, words);
    live_.add_event(thread, words);
  }
  // `pc`: one, if kWantsPc.
  void event(uint32_t handle, border::Event event, std::span<const uint64_t> payload) {
    tell(inner_, handle, event, payload);
  }
  void forget_process(uint32_t process) {
    live_.forget_process(process);
    forget_in(inner_, process);
  }
  void forget_paths(uint32_t process) {
    live_.forget_paths(process);
    inner_.forget_paths(process);
  }
  void fetch(uint32_t handle, uint64_t line, auto... pc) { inner_.fetch(handle, line, pc...); }
  void data(uint32_t handle, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, auto... pc) {
    inner_.data(handle, kind, address, bytes, pc...);
  }

 private:
  LiveTrace live_;
  Inner& inner_;
};

// A region. `Inner` gets the references that lie in it.
template <class Inner>
class RegionRecorder final {
 public:
  static constexpr bool kWantsReferences = Inner::kWantsReferences;
  static constexpr bool kWantsPc = channel::kSinkWantsPc<Inner>;
  RegionRecorder(traces::Writer& writer, host::Family& family, traces::RegionTracker& region, Inner& inner)
      : live_(family, writer, LiveTrace::Code::kUsed), region_(region), inner_(inner) {
    live_.set_on_module([this](const traces::Module& module) { region_.add_module(module); });
  }

  // Called once, when the region has ended.
  void set_on_end(std::function<void()> on_end) { on_end_ = std::move(on_end); }

  uint32_t start_thread(const channel::ThreadReport& report) {
    live_.start_thread(report, region_.inside());
    return inner_.start_thread(report);
  }
  // What the memory of processes is, is known from the start of the program on.
  void event(uint32_t handle, border::Event event, std::span<const uint64_t> payload) {
    tell(inner_, handle, event, payload);
  }
  void forget_process(uint32_t process) {
    live_.forget_process(process, region_.inside());
    forget_in(inner_, process);
  }
  void forget_paths(uint32_t process) {
    live_.forget_paths(process);
    region_.forget_paths(process);
    inner_.forget_paths(process);
  }
  uint32_t run_on(const channel::ThreadReport& report) {
    live_.run_on(report, threads_.has_entered(report.index) && region_.inside());
    threads_.run_on(report, region_.inside());
    return handle_on(inner_, report);
  }
  void path(channel::MergeThread& thread, const uint64_t* words, uint32_t count, uint32_t instructions) {
    const traces::DescriptorTable& code = live_.code_of(thread);
    if (region_.step(thread.report.index, thread.process, code, static_cast<uint32_t>(*words), instructions)) {
      enter(thread, count, instructions);
      live_.add_paths(thread, {words, count}, 1, instructions);
    } else if (region_.over()) {
      leave(thread);
    }
  }
  void event(channel::MergeThread& thread, std::span<const uint64_t> words) {
    live_.look_at(thread, words);
    region_.advance(LiveCode::instructions_of(words));
    if (region_.inside()) {
      enter(thread, words.size(), LiveCode::instructions_of(words));
      live_.add_event(thread, words);
      return;
    }
    live_.pass_over(thread, words);
    if (region_.over()) leave(thread);
  }
  void fetch(uint32_t handle, uint64_t line, auto... pc) {
    if (region_.inside()) inner_.fetch(handle, line, pc...);
  }
  void data(uint32_t handle, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, auto... pc) {
    if (region_.inside()) inner_.data(handle, kind, address, bytes, pc...);
  }

  RegionThreads& threads() { return threads_; }

 private:
  void enter(channel::MergeThread& thread, uint64_t words, uint64_t instructions) {
    if (threads_.enter(thread, words, instructions)) live_.say_core(thread);
  }
  void leave(const channel::MergeThread& thread) {
    if (threads_.leave(thread) && on_end_) std::exchange(on_end_, nullptr)();
  }

  LiveTrace live_;
  traces::RegionTracker& region_;
  Inner& inner_;
  std::function<void()> on_end_;
  RegionThreads threads_;
};

}  // namespace simrun::cli
