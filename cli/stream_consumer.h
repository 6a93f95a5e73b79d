// The loop of a run: advance the merge while there are words, sleep while there are none, notice the end of the
// program.
#pragma once

#include <chrono>
#include <string>

#include "cli/progress.h"
#include "cli/run_result.h"
#include "cli/terminal_signals.h"
#include "instr/channel/doorbell.h"
#include "instr/channel/drain.h"
#include "instr/channel/merge.h"
#include "instr/host/launch.h"

namespace simrun::cli {

class StreamConsumer {
 public:
  StreamConsumer(host::Target& target, const channel::MappedProcess& process, Progress& progress)
      : target_(target), process_(process), bell_(process.header().consumer_sleeps), progress_(progress) {
    watch(target_, bell_);
  }
  ~StreamConsumer() { watch_nothing(); }

  // Until the program has ended and its streams are read. Fills threads, events and error of `result`.
  template <class Sink>
  void run(Sink& sink, const channel::MergeOptions& options, RunResult& result) {
    channel::Merge<Sink> merge(process_, sink, options);
    try {
      loop([&](bool alive) { return merge.advance(alive); }, [&] { show(merge.reports()); },
           [&] { return merge.waits_for_runnable(); }, result);
    } catch (const channel::StreamError& error) {
      result.error = error.what();
    }
    result.threads = merge.reports();
    result.events = merge.events();
    if (!result.error.empty()) drain(result);
  }

  // The same without looking at the streams. Fills drained_words.
  void drain(RunResult& result);

 private:
  template <class Advance, class Show, class IsBehind>
  void loop(Advance&& advance, Show&& show, IsBehind&& is_behind, RunResult& result) {
    using channel::Status;
    for (int idle = 0;;) {
      // While words come, whether the program lives does not matter; asked before advance(), so that its last words are
      // not missed.
      const bool alive = idle == 0 || writes();
      const Status status = advance(alive);
      if (progress_.due()) show();
      if (status == Status::kFinished) return;
      if (given_up(alive, result)) return;
      if (status == Status::kAdvanced)
        idle = 0;
      else if (idle++ != 0 && alive)
        sleep(idle, advance, is_behind);
    }
  }

  // First some naps without the bell, so that a program that makes many short system calls need not wake us at each;
  // then sleeps until the bell rings. A thread that is behind rings only when its chunk is full or its state changes:
  // look again soon.
  template <class Advance, class IsBehind>
  void sleep(int& idle, Advance&& advance, IsBehind&& is_behind) {
    constexpr int kNaps = 4, kNapsForRunnable = 40;
    constexpr std::chrono::microseconds kNap{50};
    const bool behind = is_behind();
    if (idle <= (behind ? kNapsForRunnable : kNaps)) return nap(kNap);
    bell_.arm();
    if (advance(true) == channel::Status::kAdvanced)
      idle = 0;
    else if (writes())
      bell_.sleep(std::chrono::milliseconds(behind ? 2 : 100));
    bell_.disarm();
  }

  static void nap(std::chrono::microseconds time);
  bool writes();  // the engine may still write into the rings
  bool given_up(bool alive, RunResult& result) const;
  void show(const std::vector<channel::ThreadReport>& threads);

  host::Target& target_;
  const channel::MappedProcess& process_;
  channel::Doorbell bell_;
  Progress& progress_;
  int signals_at_end_ = -1;  // signals_seen() when the program's end was noticed
};

}  // namespace simrun::cli
