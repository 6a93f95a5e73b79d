// The loop of a run: advance the merge while there are words, sleep while there are none, let new processes in, notice
// the end of the program.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/engine_diagnosis.h"
#include "cli/program_options.h"
#include "cli/progress.h"
#include "cli/run_result.h"
#include "cli/terminal_signals.h"
#include "instr/channel/doorbell.h"
#include "instr/channel/drain.h"
#include "instr/channel/merge.h"
#include "instr/channel/standstill.h"
#include "instr/host/family.h"
#include "instr/host/guardian.h"

namespace simrun::cli {

class StreamConsumer {
 public:
  // `options`: what concerns the end of the run and the diagnosis of the engine.
  StreamConsumer(host::Family& family, Progress& progress, const ProgramOptions& options);
  ~StreamConsumer() { watch_nothing(); }

  // Who is told of all processes, from now on; null: nobody.
  static void set_guardian(host::Guardian* guardian) { guardian_ = guardian; }
  static host::Guardian* guardian() { return guardian_; }

  // Until the program has ended and its streams are read. Fills threads, processes, events, engine and error of `result`.
  template <class Sink>
  void run(Sink& sink, const channel::MergeOptions& options, RunResult& result) {
    channel::Merge<Sink> merge(sink, options);
    merge.set_find_child([this](uint32_t parent, uint64_t token, uint64_t pid) { return child(parent, token, pid); });
    merge.set_find_image([this](uint32_t process) { return has_newcomer_by_exec(process); });
    try {
      loop(merge, [&] { return merge.reports(); }, [&] { return merge.waits_for_runnable(); }, result);
    } catch (const channel::StreamError& error) {
      result.error = error.what();
    }
    if (options.sampler != nullptr) options.sampler->stop();
    result.threads = merge.reports();
    result.cores = merge.core_reports();
    result.events = merge.events();
    if (!result.error.empty())
      drain(result);
    else
      finish(result);
  }

  // The same without looking at the streams. Fills drained_words.
  void drain(RunResult& result);

 private:
  static constexpr std::chrono::seconds kPatience{10};   // with threads that get no processor

  // `streams` has is_expected(), add_process(), set_alive(), is_done(), forget() and advance(), as Merge.
  template <class Streams, class Reports, class IsBehind>
  void loop(Streams& streams, Reports&& reports, IsBehind&& is_behind, RunResult& result) {
    using channel::Status;
    constexpr uint32_t kRoundsBetweenLooks = 16;
    uint32_t rounds = 0;
    for (int idle = 0;;) {
      // While words come, whether the processes live matters only to what is kept of those that have ended: a descriptor and
      // a megabyte each. Asked before advance(), so that their last words are not missed.
      look_around(streams, idle != 0 || (living_.size() > 1 && ++rounds % kRoundsBetweenLooks == 0), result);
      const Status status = streams.advance();
      if (progress_.due()) show(reports());
      if (family_.is_attached() && !family_.is_leaving() && is_time_to_leave(reports)) family_.start_leaving();
      if (status == Status::kFinished && all_greeted() && newcomers_.empty()) return;
      if (given_up(result)) return;
      if (status == Status::kAdvanced)
        idle = 0;
      else if (idle++ != 0)
        sleep(idle, streams, is_behind);
    }
  }

  // Lets new processes in whose turn it is; with `ends`, looks which have ended.
  template <class Streams>
  void look_around(Streams& streams, bool ends, RunResult& result) {
    pass_on_held_signals();
    family_.poll();
    greet();
    for (size_t k = 0; k < newcomers_.size();) {
      const std::optional<channel::Origin> origin = origin_of(newcomers_[k]);
      if (!origin || !streams.is_expected(*origin)) {
        ++k;
        continue;
      }
      let_in(k, result);
      streams.add_process(*mapped_.back(), *origin);
      k = 0;   // its children may have been there before it
    }
    diagnosis_.look(family_);
    if (!ends) return;
    for (size_t k = 0; k < living_.size();) {
      const uint32_t index = living_[k];
      const bool alive = writes(index);
      streams.set_alive(index, alive);
      if (!alive && streams.is_done(index)) {
        streams.forget(index);
        take_leave(index, result);
        living_.erase(living_.begin() + static_cast<ptrdiff_t>(k));
      } else {
        ++k;
      }
    }
  }

  // First some naps, from which only who waits for us wakes us; then sleeps until the bell rings. A thread that is behind
  // rings only when its chunk is full or its state changes: look again soon. One that only counts rings when its chunk is
  // full, and nobody waits for what it says: longer naps (openssl, 60,000 reads a second, --mode count: a fifth of the
  // processor time).
  template <class Streams, class IsBehind>
  void sleep(int& idle, Streams& streams, IsBehind&& is_behind) {
    constexpr int kNaps = 4, kNapsForRunnable = 40;
    constexpr std::chrono::microseconds kNap{50}, kCountingNap{2000};
    if (ended()) return;
    const bool behind = is_behind(), counts = is_counting();
    if (counts) standstill_.look(mapped_);
    const bool naps = idle <= (behind && !counts ? kNapsForRunnable : kNaps);
    bell_.arm(naps ? border::kConsumerNaps : border::kConsumerSleeps);
    family_.poll();   // who asked or stopped since look_around() rang nobody
    if (naps && all_greeted())
      bell_.sleep(counts ? kCountingNap : kNap);
    else if (!all_greeted() || streams.advance() == channel::Status::kAdvanced)
      idle = 0;
    else if (!ended())
      bell_.sleep(std::chrono::milliseconds(family_.has_departures() ? 1 : !behind ? 100 : counts ? 10 : 2));
    bell_.disarm();
  }

  // Of a process that was attached to. Counts at most every 10 ms.
  template <class Reports>
  bool is_time_to_leave(Reports&& reports) {
    const auto now = std::chrono::steady_clock::now();
    if (signals_seen() != 0) return true;
    if (!begun_ && (now - start_ >= kPatience || family_.all_have_begun())) begun_ = now;
    if (limits_.seconds != 0 && begun_ && std::chrono::duration<double>(now - *begun_).count() >= limits_.seconds) return true;
    if (limits_.instructions == 0 || now - counted_ < std::chrono::milliseconds(10)) return false;
    counted_ = now;
    uint64_t instructions = 0;
    for (const channel::ThreadReport& thread : reports()) instructions += executed(thread);
    return instructions >= limits_.instructions;
  }

  static void nap(std::chrono::microseconds time);
  bool ended();                  // nothing more is waited for, but what has been written is still read
  bool is_counting() const;      // all are in count mode
  bool all_greeted() const { return greeted_ == family_.arrived(); }
  bool writes(uint32_t index);   // the engine may still write into the rings
  bool given_up(RunResult& result);
  uint64_t executed(const channel::ThreadReport& thread) const;   // instructions, as far as is known by now
  void show(const std::vector<channel::ThreadReport>& threads);
  std::optional<channel::Origin> origin_of(uint32_t newcomer) const;
  bool has_newcomer_by_exec(uint32_t process) const;
  channel::ChildState child(uint32_t parent, uint64_t token, uint64_t pid);
  void greet();
  void let_in(size_t newcomer, RunResult& result);
  void take_leave(uint32_t index, RunResult& result);
  void finish(RunResult& result);

  static inline host::Guardian* guardian_ = nullptr;
  host::Family& family_;
  Progress& progress_;
  const bool wait_for_children_;
  const AttachOptions limits_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point counted_ = start_;
  std::optional<std::chrono::steady_clock::time_point> begun_;   // --for: when all threads that were there had gone on
  uint32_t greeted_ = 0;                                         // of those that have arrived
  // By Family::arrival(). Followed, but not yet let in: its parent is not known to have made it, as far as is read.
  std::vector<uint32_t> newcomers_;
  std::vector<std::unique_ptr<channel::MappedProcess>> mapped_;  // by index of the family; null when done
  std::vector<uint32_t> living_;                                 // not yet done
  channel::Doorbell bell_;
  channel::Standstill standstill_;
  EngineDiagnosis diagnosis_;
  int signals_at_end_ = -1;  // signals_seen() when the program's end was noticed
};

}  // namespace simrun::cli
