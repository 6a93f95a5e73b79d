// The sink of `simrun bbv`: counts instructions by basic block and thread, cuts the run into intervals, and says where
// each begins.
//
// From a trace (mode kTrace) each path is counted as it comes; the one that an interval ends in is split at the
// instruction, all others cost two additions. From counts (kCount) threads report how often each path ran, at the exact
// ends of intervals; when there are several threads an interval is over with the report that fills it. Intervals are of
// all threads together, in the order of virtual time; vectors have a dimension for each block of each thread: of threads
// (of processes) that come and go the next one has the number of one that has ended, so the same work has the same vector.
//
// Of several threads, the one that began an interval also ends it, unless it has ended or does not run: so both markers
// are places in its own execution, whose distance and order no other thread changes. (Not even the order of virtual
// time can be relied on between two: it does not know who waited for whom.)
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/phases/barriers.h"
#include "cli/phases/code_modules.h"
#include "cli/phases/left_out.h"
#include "cli/phases/path_blocks.h"
#include "cli/phases/process_origin.h"
#include "cli/phases/reuse_distances.h"
#include "cli/phases/sparse_counts.h"
#include "cli/phases/thread_names.h"
#include "instr/channel/merge.h"
#include "instr/channel/path_counts.h"
#include "simpoint/profile.h"
#include "simpoint/projection.h"

namespace simrun::cli {

struct ProfilerOptions {
  simpoint::IntervalKind kind = simpoint::IntervalKind::kFixed;
  uint64_t length = 10'000'000;       // counted instructions, above the longest superblock; other kinds: at least
  std::vector<std::string> left_out;  // code that is not counted (left_out.h)
  bool from_trace = false;            // though counts would do
  bool strings = true;                // vectors also say what repeated string instructions went over
  bool distances = false;             // vectors also say how far apart references to one line are
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

  BlockProfiler(const ProfilerOptions& options, OnInterval on_interval, OriginOf origin_of);

  // As Merge calls its sink.
  uint32_t start_thread(const channel::ThreadReport& thread);
  void fetch(uint32_t, uint64_t) {}
  void data(uint32_t, channel::ReferenceKind, uint64_t, uint32_t) {}
  bool enter_path(channel::MergeThread& merged, const uint64_t* words, channel::PathTable& paths) {
    Thread& thread = thread_of(merged, paths);
    const uint64_t word = words[0];
    const PathBlocks* const path = thread.process->paths.find(word);
    if (path != nullptr && path->instructions + looks_back_ <= quiet_ && path->plain && !thread.waits) [[likely]] {
      quiet_ -= path->instructions;
      count(thread, word);
      return false;
    }
    take_slowly(thread, words);
    return false;
  }
  void event(channel::MergeThread& merged, std::span<const uint64_t> words, channel::PathTable& paths);
  void forget_process(uint32_t process);

  // References of the path that the thread entered last.
  void take_data(uint32_t handle, uint64_t line) {
    if (Thread* const thread = threads_[handle]) thread->distances->data.access(line);
  }
  void take_fetch(uint32_t handle, uint64_t line) {
    if (Thread* const thread = threads_[handle]) thread->distances->fetches.access(line);
  }
  // Whether that path is counted.
  bool counts(const channel::MergeThread& merged, uint64_t word) {
    Thread* const thread = threads_[merged.replay.handle];
    return thread != nullptr && !thread->process->paths.find(word)->left_out;
  }

  // Ends the last interval. What is known of the run but its command; intervals were given to `on_interval`.
  // `instructions`: retired by all threads; what the end of a process cut off before it was counted is left out.
  simpoint::Profile finish(uint64_t instructions);
  // Of `left_out`: what has left out nothing.
  std::vector<std::string> left_out_nothing() const { return left_out_code_.unused(); }

  // What memory is used for, for tests: `words` are places for numbers of executions.
  struct Kept {
    size_t threads = 0, processes = 0, words = 0;
  };
  Kept kept() const;

 private:
  static constexpr uint32_t kMostPassed = 3;
  using Executions = std::unordered_map<uint64_t, uint64_t>;  // of addresses, in cut paths and forks left out
  struct Process {
    channel::PathTable* table = nullptr;
    std::string name;
    uint32_t threads = 0;  // that were ever there
    CodeModules modules;
    PathBlockTable paths;
    std::vector<uint64_t> executions;  // by word, in the intervals that are over
    Executions cut_executions;
    // The same in the interval that is over, or in what has been looked at of the one that is not.
    std::vector<uint64_t> last_executions;
    std::vector<uint32_t> last_words;  // whose are not 0
    Executions last_cut_executions;
  };
  struct BlockCount {
    uint64_t address = 0;
    uint32_t dimension = 0;  // 0: none yet
    uint64_t count = 0;      // instructions
  };
  struct Distances {
    ReuseDistances data, fetches;
  };
  struct Thread {
    Process* process = nullptr;  // null: forgotten
    uint32_t process_index = 0;
    uint32_t index = 0;
    uint32_t number = 0;         // in its blocks' names
    uint64_t reported = 0;  // instructions, from counts
    std::string name;
    bool runs = false;    // has executed something in this interval, and not ended
    bool waits = false;   // at a barrier (kBarrier only)
    bool ended = false;   // kept until the interval is over, as pack() leaves it
    uint32_t passed = 0;  // barriers that might have ended this interval
    // Executions by word, in the intervals that are over. Not kept while it is the only thread of its process.
    std::vector<uint64_t> before;
    Executions cut_executions;
    std::vector<uint64_t> executions;  // by word, in this interval; of one that has ended, by place in `touched`
    std::vector<uint32_t> touched;     // words
    uint64_t strings_reported = 0;      // bytes of repeated string instructions, from counts
    uint64_t string_bytes = 0;          // the same, not in `parts` yet
    std::unique_ptr<Distances> distances;          // null: not asked for
    SparseCounts parts;                            // by block: instructions in this interval, while it ends
    std::vector<uint32_t> dimensions;              // of a block; 0: none yet
    std::optional<channel::PathInstruction> last;  // executed last; only while looking for an end
    // Of a process that has been forgotten: executed in this interval, and what its code was of.
    std::vector<BlockCount> blocks;
    const CodeModules* modules = nullptr;
  };

  void count(Thread& thread, uint64_t word, uint64_t times = 1) {
    if (word >= thread.executions.size()) [[unlikely]]
      thread.executions.resize(2 * word + 1);
    if (thread.executions[word] == 0) {
      if (!thread.runs) thread.runs = true, ++running_;
      thread.touched.push_back(static_cast<uint32_t>(word));
    }
    thread.executions[word] += times;
  }
  Thread& thread_of(const channel::MergeThread& merged, channel::PathTable& paths) {
    Thread* const thread = threads_[merged.replay.handle];
    if (thread == nullptr) [[unlikely]]
      return meet(merged, paths);
    return *thread;
  }
  Thread& meet(const channel::MergeThread& merged, channel::PathTable& paths);
  CodeModules modules_of(uint32_t process) const;
  uint32_t take_number();
  void give_number_back(uint32_t handle);
  uint32_t dimension_of(const Thread& thread, simpoint::CodePlace place);
  void end_thread(Thread& thread);
  static void pack(Thread& thread);
  void settle(Thread& thread);
  void take_counts(Thread& thread, std::span<const uint64_t> words);
  void take_end(Thread& thread);
  void take_report(Thread& thread, uint64_t retired, uint64_t next_pc, uint64_t string_bytes);
  PathBlocks& learn(Process& process, uint64_t word, PathInstructions code);
  void take_slowly(Thread& thread, const uint64_t* words);
  static void take_strings(Thread& thread, const uint64_t* words, uint32_t from, uint32_t to);
  static void take_cut_strings(Thread& thread, std::span<const uint64_t> event);
  bool passes_barrier(Thread& thread, const PathBlocks& path);
  void cut(Thread& thread, uint64_t word, uint32_t instructions);
  void take_part(Thread& thread, PathInstructions code, uint32_t from, uint32_t to);
  void pass(uint64_t instructions) {
    overdue_ += instructions - std::min(quiet_, instructions);
    quiet_ -= std::min(quiet_, instructions);
  }
  // Whether the interval may end at this thread: the others that run wait for its leader until each of them might have
  // executed an interval meanwhile.
  bool leads(const Thread& thread, uint64_t overdue) const {
    if (leader_ == nullptr || leader_ == &thread) return true;
    const uint64_t others = running_ - leader_->runs;
    return options_.kind != simpoint::IntervalKind::kBarrier && overdue >= options_.length * others;
  }
  std::optional<uint32_t> end_in(const Thread& thread, PathInstructions code, uint32_t instructions) const;
  bool may_end(const channel::PathInstruction& before, const channel::PathInstruction& next) const;
  void begin_interval(const Thread& thread, uint64_t pc, uint64_t executions_meanwhile);
  void begin_interval(const Thread& thread, PathInstructions code, uint32_t at);
  void end_interval();
  static void add_executions(Thread& thread, uint64_t word, uint64_t times);
  static void add_cut_execution(Thread& thread, uint64_t pc);
  void take_touched(Thread& thread);
  void flush(Thread& thread);
  void flush_settled(Thread& thread);
  void name_new_blocks(Thread& thread);
  // A barrier: the others wait for the leader until one of them has passed several.
  bool may_end_at_barrier(Thread& thread) const {
    return begun_ && quiet_ == 0 && (leads(thread, overdue_) || ++thread.passed > kMostPassed);
  }
  // Of the instruction at `pc` in `process`, wherever its file is mapped there, by the words and cuts of one of its
  // threads or of all.
  static uint64_t executions_of(const Process& process, uint64_t pc, const std::vector<uint64_t>& words,
                                const Executions& cuts);

  ProfilerOptions options_;
  OnInterval on_interval_;
  OriginOf origin_of_;
  LeftOut left_out_code_;
  std::map<uint32_t, Process> processes_;
  std::map<uint32_t, CodeModules> modules_of_forgotten_;  // by process: its children begin with them
  ThreadNames names_;
  static constexpr uint32_t kNoNumber = ~uint32_t{0};
  std::vector<uint32_t> numbers_;            // by handle; kNoNumber: given back
  std::vector<bool> number_is_taken_;        // by a thread that has not ended
  struct BlockKey {
    uint32_t module, number, process;        // `process`: 0 but for code of no module
    uint64_t offset;
    auto operator<=>(const BlockKey&) const = default;
  };
  std::unordered_map<std::string, uint32_t> module_numbers_;
  std::map<BlockKey, uint32_t> dimensions_;
  const Thread* leader_ = nullptr;  // who began the interval and has not ended
  const Thread* ender_ = nullptr;   // it has passed the barrier (kBarrier only) that is to end the interval
  std::vector<Thread*> threads_;  // by handle; null: not met, or ended
  std::vector<std::unique_ptr<Thread>> counted_;  // of this interval: those that live or ended in it, by index
  Barriers barriers_;
  uint64_t looks_back_;    // 1: what is executed last before an interval may end is wanted (Thread::last)
  uint64_t quiet_ = 0;     // counted instructions until the interval may end
  uint64_t overdue_ = 0;   // the same since then
  uint64_t left_out_ = 0;  // instructions, all intervals
  uint64_t retired_ = 0;   // in the intervals that are over
  uint64_t interval_left_out_ = 0;
  uint64_t interval_reported_ = 0;  // from counts
  bool begun_ = false;
  uint64_t running_ = 0;  // threads of which Thread::runs
  simpoint::Interval interval_;
  simpoint::Profile profile_;
  SparseCounts counts_;  // by dimension, of the interval that ends
  std::vector<simpoint::Entry> entries_;
};

// The same, with the references of what it counts.
class DistanceProfiler : public BlockProfiler {
 public:
  static constexpr bool kWantsReferences = true;
  using BlockProfiler::BlockProfiler;
  bool enter_path(channel::MergeThread& merged, const uint64_t* words, channel::PathTable& paths) {
    BlockProfiler::enter_path(merged, words, paths);
    return counts(merged, words[0]);
  }
  void data(uint32_t handle, channel::ReferenceKind, uint64_t address, uint32_t) { take_data(handle, address / ReuseDistances::kLineBytes); }
  void fetch(uint32_t handle, uint64_t line) { take_fetch(handle, line); }
};

}  // namespace simrun::cli
