// The sink of `simrun bbv`: counts instructions by basic block and thread, cuts the run into intervals, and says where
// each begins.
//
// From a trace (mode kTrace) each path is counted as it comes; the one that an interval ends in is split at the
// instruction, all others cost two additions. From counts (kCount) threads report how often each path ran, at the exact
// ends of intervals; when there are several threads an interval is over with the report that fills it. Intervals are of
// all threads together, in the order of virtual time; vectors have a dimension for each block of each thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/phases/barriers.h"
#include "cli/phases/code_modules.h"
#include "cli/phases/path_blocks.h"
#include "instr/channel/merge.h"
#include "simpoint/profile.h"
#include "simpoint/projection.h"

namespace simrun::cli {

struct ProfilerOptions {
  simpoint::IntervalKind kind = simpoint::IntervalKind::kFixed;
  uint64_t length = 10'000'000;       // counted instructions, above the longest superblock; other kinds: at least
  std::vector<std::string> left_out;  // patterns (fnmatch) of module paths or file names that are not counted
  bool from_trace = false;            // though counts would do
};

// Which process a thread is of, for a Merge of several.
template <class Thread>
uint32_t process_of([[maybe_unused]] const Thread& thread) {
  if constexpr (requires { thread.process; }) return thread.process;
  return 0;
}

class BlockProfiler {
 public:
  static constexpr bool kWantsReferences = false;
  using OnInterval = std::function<void(const simpoint::Interval&, std::span<const simpoint::Entry>)>;

  BlockProfiler(const ProfilerOptions& options, OnInterval on_interval);

  // As Merge calls its sink.
  uint32_t start_thread(const channel::ThreadReport& thread);
  void fetch(uint32_t, uint64_t) {}
  void data(uint32_t, channel::ReferenceKind, uint64_t, uint32_t) {}
  bool enter_path(channel::MergeThread& merged, const uint64_t* words, channel::PathTable& paths) {
    Thread& thread = threads_[merged.replay.handle];
    if (thread.process == nullptr) [[unlikely]]
      meet(thread, merged, paths);
    const uint64_t word = words[0];
    const PathBlocks* const path = thread.process->paths.find(word);
    if (path != nullptr && path->instructions <= quiet_ && !path->left_out && !thread.waits &&
        path->synchronisation == Synchronisation::kNone) [[likely]] {
      quiet_ -= path->instructions;
      count(thread, word);
      return false;
    }
    take_slowly(thread, word);
    return false;
  }
  void event(channel::MergeThread& merged, std::span<const uint64_t> words, channel::PathTable& paths);

  // Ends the last interval. What is known of the run but its command; intervals were given to `on_interval`.
  // `instructions`: retired by all threads; what the end of a process cut off before it was counted is left out.
  simpoint::Profile finish(uint64_t instructions);

 private:
  struct Process {
    channel::PathTable* table = nullptr;
    CodeModules modules;
    PathBlockTable paths;
    std::vector<uint64_t> executions;                       // by word, in the intervals that are over
    std::unordered_map<uint64_t, uint64_t> cut_executions;  // of addresses, in paths that faults ended
  };
  struct Thread {
    Process* process = nullptr;
    uint32_t index = 0;
    uint64_t reported = 0;             // instructions, from counts
    bool waits = false;                // at a barrier (kBarrier only)
    uint64_t barriers = 0;             // left, by it or before it started
    std::vector<uint64_t> executions;  // by word, in this interval
    std::vector<uint32_t> touched;
    std::map<uint64_t, uint64_t> parts;                  // instructions of blocks, in split and cut paths
    std::unordered_map<uint64_t, uint32_t> dimensions;   // of a block
    std::optional<channel::PathCode::Instruction> last;  // executed last; only while looking for an end
  };

  static void count(Thread& thread, uint64_t word, uint64_t times = 1) {
    if (word >= thread.executions.size()) [[unlikely]]
      thread.executions.resize(2 * word + 1);
    if (thread.executions[word] == 0) thread.touched.push_back(static_cast<uint32_t>(word));
    thread.executions[word] += times;
  }
  void meet(Thread& thread, const channel::MergeThread& merged, channel::PathTable& paths);
  void take_counts(Thread& thread, std::span<const uint64_t> pairs);
  void take_report(Thread& thread, uint64_t retired, uint64_t next_pc);
  PathBlocks& learn(Process& process, uint64_t word, const channel::PathCode& code);
  void take_slowly(Thread& thread, uint64_t word);
  bool passes_barrier(Thread& thread, const PathBlocks& path);
  void cut(Thread& thread, uint64_t word, uint32_t instructions);
  void take_part(Thread& thread, const channel::PathCode& code, uint32_t from, uint32_t to);
  void pass(uint64_t instructions) { quiet_ -= std::min(quiet_, instructions); }
  std::optional<uint32_t> end_in(const Thread& thread, const channel::PathCode& code, uint32_t instructions) const;
  bool may_end(const channel::PathCode::Instruction& before, const channel::PathCode::Instruction& next) const;
  void begin_interval(Process& process, uint64_t pc, uint64_t executions);
  void begin_interval(Process& process, const channel::PathCode& code, uint32_t at);
  void end_interval();
  void flush(Thread& thread);
  // Of the instruction at `pc` in `process`, at its place in its file in any process, in the intervals that are over.
  uint64_t executions_of(const Process& process, uint64_t pc) const;
  static uint64_t executions_in(const Process& process, uint64_t pc);

  ProfilerOptions options_;
  OnInterval on_interval_;
  std::map<uint32_t, Process> processes_;
  std::deque<Thread> threads_;
  Barriers barriers_;
  uint64_t barriers_left_ = 0;  // by the thread that has left most
  uint64_t quiet_ = 0;          // counted instructions until the interval may end
  uint64_t left_out_ = 0;       // instructions, all intervals
  uint64_t retired_ = 0;        // in the intervals that are over
  uint64_t interval_left_out_ = 0;
  uint64_t interval_reported_ = 0;  // from counts
  bool begun_ = false;
  simpoint::Interval interval_;
  simpoint::Profile profile_;
  std::vector<simpoint::Entry> entries_;
};

}  // namespace simrun::cli
