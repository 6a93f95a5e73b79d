// The streams of all processes, in one order, into one sink. A template of the sink: no virtual call per reference.
//
//   Merge<CountingSink> merge(process, sink, options);
//   for (;;) {
//     const bool alive = ...;   // asked before advance(), or words written in between would be lost
//     const Status s = merge.advance(alive);
//     if (s == Status::kFinished) break;
//     if (s == Status::kIdle) ...   // sleep (doorbell.h)
//   }
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "instr/border/stream.h"
#include "instr/channel/counting_sink.h"
#include "instr/channel/doorbell.h"
#include "instr/channel/mapped_process.h"
#include "instr/channel/path_table.h"
#include "instr/channel/replay.h"
#include "instr/channel/replay_cut.h"
#include "instr/channel/stream_error.h"
#include "instr/channel/take_paths.h"
#include "instr/channel/virtual_time.h"

namespace simrun::channel {

// Optional members of a sink, for who wants the words themselves (a recorder). Nothing of it costs the others anything.
//   void path(MergeThread&, const uint64_t* words, uint32_t count, uint32_t instructions)   each path, before its references
//   void before_paths(MergeThread&)   before paths of a thread in a row, as they come
//   bool enter_path(MergeThread&, const uint64_t* words, PathTable&)   each path, before its references; false: they
//       are counted, but neither worked out nor passed on. Of a sink that takes many at once: those that it does not take so
//   void words(MergeThread&, const uint64_t* from, const uint64_t* to, uint64_t paths, uint64_t instructions)   after them
//   void event(MergeThread&, std::span<const uint64_t> words)          each event with its first word, before it is handled
//   void event(MergeThread&, std::span<const uint64_t> words, PathTable&)   the same, for who needs the paths that counts are of
template <class Sink>
concept WantsPaths = requires(Sink& s, MergeThread& t, const uint64_t* w) {
  s.path(t, w, 0u, 0u);
};
template <class Sink>
concept ChoosesPaths = requires(Sink& s, MergeThread& t, const uint64_t* w, PathTable& p) {
  { s.enter_path(t, w, p) } -> std::same_as<bool>;
};
template <class Sink>
concept HearsOfEachPath = WantsPaths<Sink> || requires(Sink& s, const uint64_t* w, PathTable& p) { s.after_path(0u, w, p); };
template <class Sink>
concept WantsWords = requires(Sink& s, MergeThread& t, const uint64_t* w) {
  s.words(t, w, w, uint64_t{}, uint64_t{});
};
// How many instructions further on it is to be told of words, if not before; then of what the streams say, not of when the reader found words.
template <class Sink>
concept SaysWhenToStop = requires(const Sink& s) {
  { s.until_stop() } -> std::same_as<uint64_t>;
};
template <class Sink>
concept WantsEventsWithPaths = requires(Sink& s, MergeThread& t, std::span<const uint64_t> w, PathTable& p) { s.event(t, w, p); };
template <class Sink>
concept WantsEvents = requires(Sink& s, MergeThread& t, std::span<const uint64_t> w) { s.event(t, w); };

//   uint32_t run_on(const ThreadReport&)   a thread gets the core ThreadReport::core (MergeOptions::cores); its new
//       handle
template <class Sink>
concept FollowsCores = requires(Sink& s, const ThreadReport& t) {
  { s.run_on(t) } -> std::same_as<uint32_t>;
};

//   void forget_process(uint32_t)   nothing more comes from the process
//   void forget_paths(uint32_t)     ids of paths of the process mean others from now on (border::Event::kForgetPaths). Of a
//       sink without it the processes' code is described once and for all, as far as the tables reach
template <class Sink>
concept ForgetsPaths = requires(Sink& s) { s.forget_paths(0u); };

enum class Status { kAdvanced, kIdle, kFinished };

// Events that concern the process rather than a thread.
struct ProcessEvents {
  uint64_t forks = 0;  // children that went on outside this simulation
  uint64_t execs = 0;  // that succeeded or were not seen to fail
};

template <class Sink>
class Merge {
 public:
  // `sink` must outlive this.
  Merge(Sink& sink, const MergeOptions& options)
      : sink_(sink),
        line_bytes_(options.line_bytes),
        time_(options, [this](const ThreadReport& thread) { return sink_.start_thread(thread); }) {
    if constexpr (FollowsCores<Sink>)
      time_.set_run_on([this](const ThreadReport& thread) { return sink_.run_on(thread); });
  }

  // With one process.
  Merge(const MappedProcess& process, Sink& sink, const MergeOptions& options) : Merge(sink, options) {
    add_process(process);
  }
  ~Merge() {
    for (uint32_t process = 0; process < paths_.size(); ++process)
      if (paths_[process] != nullptr) lose_paths(process);
  }

  bool is_expected(const Origin& origin) const { return time_.is_expected(origin); }
  // One more process, as VirtualTime::add_process; `mapped` must stay until forget(). Throws StreamError.
  uint32_t add_process(const MappedProcess& mapped, const Origin& origin = {}) {
    paths_.push_back(std::make_unique<PathTable>(mapped, line_bytes_));
    mapped.header().forgets_paths.store(ForgetsPaths<Sink> ? 1 : 0, std::memory_order_relaxed);
    return time_.add_process(mapped, origin);
  }
  // `alive`: the process may still write (known before the next advance()).
  void set_alive(uint32_t process, bool alive) { time_.set_alive(process, alive); }
  bool is_done(uint32_t process) const { return time_.is_done(process); }
  void forget(uint32_t process) {
    time_.forget(process);
    std::erase_if(renewals_, [&](const Renewal& r) { return r.process == process; });
    lose_paths(process);
    paths_[process].reset();
    if constexpr (requires { sink_.forget_process(process); }) sink_.forget_process(process);
  }
  void set_find_child(VirtualTime::FindChild find_child) { time_.set_find_child(std::move(find_child)); }
  void set_find_image(VirtualTime::FindImage find_image) { time_.set_find_image(std::move(find_image)); }

  // Up to some hundred turns. Throws StreamError: the message names the thread.
  Status advance() {
    constexpr int kTurns = 256;
    if (!renewals_.empty()) renew_paths();
    time_.look_for_attached();
    for (int turn = 0; turn < kTurns; ++turn) {
      MergeThread* thread = nullptr;
      try {
        thread = time_.next();
        if (thread == nullptr)
          return time_.finished() ? Status::kFinished : turn != 0 ? Status::kAdvanced : Status::kIdle;
        run_turn(*thread);
      } catch (const StreamError& error) {
        if (thread == nullptr) throw;
        throw StreamError(fmt::format("thread {} (tid {}), word {}: {}", thread->report.index, thread->report.tid,
                                      thread->ring.words_consumed(), error.what()));
      }
    }
    return Status::kAdvanced;
  }
  // With one process.
  Status advance(bool alive) {
    set_alive(0, alive);
    return advance();
  }

  // A runnable thread is behind: its words should come soon, though nobody rings before its chunk is full.
  bool waits_for_runnable() const { return time_.waits_for_runnable(); }

  std::vector<ThreadReport> reports() const { return time_.reports(); }
  std::vector<CoreReport> core_reports() const { return time_.core_reports(); }
  ProcessEvents events() const {
    ProcessEvents all = events_;
    all.forks += time_.native_children();
    return all;
  }
  const PathTable& paths(uint32_t process = 0) const { return *paths_[process]; }

 private:
  void run_turn(MergeThread& thread) {
    RingReader& ring = thread.ring;
    while (thread.stage == MergeThread::Stage::kRunnable && thread.clock < thread.turn_end && !ring.empty()) {
      const uint64_t word = *ring.position();
      const bool went_on = static_cast<uint32_t>(word) < border::kFirstPath ? take_event(thread) : run_paths(thread);
      if (went_on) continue;
      // Nothing straddles chunks: what is not complete at the end of one will never be.
      if (ring.at_chunk_end()) throw StreamError("a path or an event crosses the end of its chunk");
      thread.needs_more = true;
      return;
    }
  }

  void lose_paths(uint32_t process) {
    if constexpr (MakesLater<Sink>) sink_.lose_paths(process);
  }

  // As many paths as the words in hand and the turn allow. False: not even one was complete.
  bool run_paths(MergeThread& thread) {
    if (!thread.unborn.empty()) time_.release_children(thread);
    if constexpr (requires { sink_.before_paths(thread); }) sink_.before_paths(thread);
    if constexpr (MakesLater<Sink> || (TakesTogether<Sink> && !HearsOfEachPath<Sink>))
      if (const auto went_on = run_paths_together(thread)) return *went_on;
    return run_each_path(thread);
  }

  // To the end of the turn, or to where the sink stops.
  uint64_t instructions_wanted(const MergeThread& thread) const {
    uint64_t wanted = thread.turn_end - thread.clock;
    if constexpr (SaysWhenToStop<Sink>) wanted = std::min(wanted, sink_.until_stop());
    return wanted;
  }

  // Nothing: the sink wants each path by itself now.
  std::optional<bool> run_paths_together(MergeThread& thread) {
    const uint64_t* const first = thread.ring.position();
    const uint64_t paths_before = thread.replay.statistics.paths;
    const auto taken = take_paths(sink_, *paths_[thread.process], thread.replay, first, thread.ring.end(),
                                  instructions_wanted(thread));
    if (!taken) return {};
    if constexpr (WantsWords<Sink>)
      sink_.words(thread, first, taken->at, thread.replay.statistics.paths - paths_before, taken->instructions);
    thread.clock += taken->instructions;
    thread.ring.consume_to(taken->at);
    return taken->at != first;
  }

  bool run_each_path(MergeThread& thread) {
    PathTable& paths = *paths_[thread.process];
    const uint64_t* const first = thread.ring.position();
    const uint64_t* const end = thread.ring.end();
    const uint64_t* at = first;
    uint64_t clock = thread.clock;
    const uint64_t turn_end = clock + instructions_wanted(thread);
    const uint64_t paths_before = thread.replay.statistics.paths;
    while (at != end && clock < turn_end) {
      const uint32_t length = path_length(paths, at, end);
      if (length == 0) break;
      const DecodedPath& path = paths[*at];
      if constexpr (WantsPaths<Sink>) sink_.path(thread, at, length, path.instructions);
      bool wanted = true;
      if constexpr (ChoosesPaths<Sink>) wanted = sink_.enter_path(thread, at, paths);
      if (wanted)
        replay(path, at, thread.replay, sink_);
      else
        replay(path, at, thread.replay, counting_);
      if constexpr (requires { sink_.after_path(thread.replay.handle, at, paths); })
        sink_.after_path(thread.replay.handle, at, paths);
      clock += path.instructions;
      at += length;
    }
    if constexpr (WantsWords<Sink>)
      sink_.words(thread, first, at, thread.replay.statistics.paths - paths_before, clock - thread.clock);
    thread.clock = clock;
    thread.ring.consume_to(at);
    return at != first;
  }

  // One event. False: not all of it is here yet.
  bool take_event(MergeThread& thread) {
    const auto words = thread.ring.words();
    const uint64_t payload = words[0] >> 32;
    if (payload >= words.size()) return false;
    thread.ring.consume_to(words.data() + 1 + payload);
    if (static_cast<uint32_t>(words[0]) == static_cast<uint32_t>(border::Event::kForgetPaths)) {
      await_renewal(thread, words.subspan(1, payload));
      return true;
    }
    if constexpr (WantsEvents<Sink>) sink_.event(thread, words.first(1 + payload));
    if constexpr (WantsEventsWithPaths<Sink>) sink_.event(thread, words.first(1 + payload), *paths_[thread.process]);
    handle_event(thread, static_cast<border::Event>(static_cast<uint32_t>(words[0])), words.subspan(1, payload));
    return true;
  }

  static void require_payload(std::span<const uint64_t> payload, size_t words, const char* event) {
    if (payload.size() < words)
      throw StreamError(fmt::format("event {} with {} words, not {}", event, payload.size(), words));
  }

  void handle_event(MergeThread& thread, border::Event event, std::span<const uint64_t> payload) {
    using border::Event;
    ReplayState& replay = thread.replay;
    // Before it has any effect here, so that the sink hears of a system call before its thread stops running.
    if constexpr (requires { sink_.event(replay.handle, event, payload); }) sink_.event(replay.handle, event, payload);
    switch (event) {
      case Event::kThreadStart:
        require_payload(payload, 3, "thread start");
        thread.report.tid = static_cast<uint32_t>(payload[0]);
        replay.bases.fs = payload[2];
        return;
      case Event::kThreadEnd:
        thread.report.ended = true;
        return time_.end(thread);
      case Event::kThreadCreate:
        require_payload(payload, 1, "thread create");
        return time_.create_child(thread, payload[0]);
      case Event::kThreadCreateFailed:
        require_payload(payload, 1, "thread create failed");
        return time_.drop_child(thread, payload[0]);
      case Event::kSyscallEnter:
        ++replay.statistics.syscalls;
        return time_.enter_call(thread, payload);
      case Event::kSyscallExit:
        return time_.exit_call(thread, payload);
      case Event::kFsBase:
        require_payload(payload, 1, "FS base");
        replay.bases.fs = payload[0];
        return;
      case Event::kGsBase:
        require_payload(payload, 1, "GS base");
        replay.bases.gs = payload[0];
        return;
      case Event::kSignal:
        ++replay.statistics.signals;
        return;
      case Event::kCut:
        require_payload(payload, 3, "cut");
        thread.clock += replay_cut(*paths_[thread.process], payload, replay, sink_);
        return;
      case Event::kMarker:
        return;
      case Event::kExec:
        if (!payload.empty() && payload[0] != 0) return time_.exec(thread);
        ++events_.execs;
        return time_.leave(thread);
      case Event::kExecFailed:
        if (payload.empty() || payload[0] == 0) --events_.execs;
        return;
      case Event::kProcessFork:
        if (payload.size() > 1 && payload[1] != 0) return time_.fork(thread, payload[0], payload[1]);
        ++events_.forks;
        return;
      case Event::kMappingChange:
        require_payload(payload, 9, "mapping change");
        time_.change_mapping(thread, payload);
        if (payload[8] == 0) return;
        let_go_on(paths_[thread.process]->process().header().mappings_read, payload[8]);
        return time_.leave(thread);
      case Event::kRetired:
      case Event::kInterval:
        require_payload(payload, 1, "retired");
        return retire(thread, payload[0]);
      case Event::kModeSwitch:
        require_payload(payload, 2, "mode switch");
        thread.counted = payload[1];  // what was traced before has been counted path by path
        return;
      case Event::kPathCounts:
        return;
      case Event::kPathCut:
        require_payload(payload, 2, "path cut");
        return;
      case Event::kForgetPaths:
        break;  // between the engine and this class
    }
    throw StreamError(fmt::format("unknown event {}", static_cast<uint32_t>(event)));
  }

  // Count mode: the thread says how far it is.
  void retire(MergeThread& thread, uint64_t total) {
    if (!thread.unborn.empty()) time_.release_children(thread);
    if (total < thread.counted) throw StreamError(fmt::format("{} instructions after {}", total, thread.counted));
    thread.replay.statistics.instructions += total - thread.counted;
    thread.clock += total - thread.counted;
    thread.counted = total;
  }

  // Of a process whose path ids are to mean something else when all of it has been read. It is stopped until then.
  struct Renewal {
    uint32_t process;
    uint64_t ticket;
  };
  void await_renewal(MergeThread& thread, std::span<const uint64_t> payload) {
    require_payload(payload, 1, "forget paths");
    if constexpr (!ForgetsPaths<Sink>) throw StreamError("paths are to be forgotten, which nobody can");
    renewals_.push_back({thread.process, payload[0]});
    time_.leave(thread);
  }
  void renew_paths() {
    std::erase_if(renewals_, [&](const Renewal& renewal) {
      if (!time_.has_read_all(renewal.process)) return false;
      lose_paths(renewal.process);
      if constexpr (ForgetsPaths<Sink>) sink_.forget_paths(renewal.process);
      paths_[renewal.process]->forget();
      let_go_on(paths_[renewal.process]->process().header().paths_forgotten, renewal.ticket);
      return true;
    });
  }

  // What `ticket` is of has been dealt with: the thread that waits for it may go on.
  static void let_go_on(std::atomic<uint32_t>& done, uint64_t ticket) {
    if (done.load() < ticket) done.store(static_cast<uint32_t>(ticket), std::memory_order_release);
    futex_wake_all(done);
  }

  Sink& sink_;
  uint32_t line_bytes_;
  std::vector<std::unique_ptr<PathTable>> paths_;  // by process
  VirtualTime time_;
  ProcessEvents events_;
  std::vector<Renewal> renewals_;
  CountingSink counting_;
};

}  // namespace simrun::channel
