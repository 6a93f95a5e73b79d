// The sink of a run that is simulated in parts: counts every instruction, gives references to the model only where it
// is told to, and says when each stop is reached.
//
// A stop is reached by its marker: the path with that execution of the instruction is the first behind it. A marker
// that does not come is a stop missed: it is taken when a later one of the same thread has come, or several later ones,
// or when the run is further than the marker's place in the profile by more than `tolerance`. A marker that comes by an
// eighth of that too early, after the shift of the stops before, is none: how often a thread executes what goes by time
// (a library's functions, when it says how far it has come) differs from run to run. Its stop is missed, and taken by
// the number of instructions.
//
// The run may go through count mode between stops (docs/count-mode.md, "Switches"): executions are then added up from
// the path counts. A marker that was passed while it was only counted is a stop missed.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cli/model_sink.h"
#include "cli/phases/block_profiler.h"
#include "cli/phases/code_modules.h"
#include "cli/phases/process_origin.h"
#include "cli/phases/region_traces.h"
#include "cli/phases/thread_names.h"
#include "instr/channel/merge.h"
#include "sim/hierarchy.h"
#include "simpoint/profile.h"

namespace simrun::cli {

struct Stop {
  simpoint::Marker marker;    // count 0: by the number of instructions alone
  uint64_t instructions = 0;  // expected before it
  bool simulate = false;      // from here on
};

class RegionSink {
 public:
  static constexpr bool kWantsReferences = true;
  static constexpr bool kWantsPc = true;  // a machine's prefetchers may go by it
  // Before the first path behind the stop. `instructions`: retired so far.
  using OnStop = std::function<void(size_t stop, uint64_t instructions)>;

  // `traces`: nullptr, or who gets what lies between its begin() and end().
  RegionSink(sim::Hierarchy& model, std::vector<Stop> stops, uint64_t tolerance, OnStop on_stop,
             RegionTraces* traces = nullptr);

  // Before the first process runs. Without it all are the launched one.
  void set_origins(OriginOf origin_of) { origin_of_ = std::move(origin_of); }

  uint32_t start_thread(const channel::ThreadReport& thread) {
    names_.of(thread);
    return model_.start_thread(thread);
  }
  uint32_t run_on(const channel::ThreadReport& thread) {
    if (traces_ != nullptr) traces_->run_on(thread);
    return model_.run_on(thread);
  }
  void fetch(uint32_t handle, uint64_t line, uint64_t pc) {
    if (simulate_) model_.fetch(handle, line, pc);
  }
  void data(uint32_t handle, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, uint64_t pc) {
    if (simulate_) model_.data(handle, kind, address, bytes, pc);
  }
  bool enter_path(channel::MergeThread& merged, const uint64_t* words, const channel::PathTable& paths) {
    const uint64_t word = words[0];
    if (retired_ >= next_look_ || has_watch(merged, word, paths)) [[unlikely]]
      look(merged, word);
    retired_ += paths[word].instructions;
    if (!simulate_) return false;
    if (merged.report.index >= began_.size() || !began_[merged.report.index]) [[unlikely]]
      begin(merged);
    simulated_ += paths[word].instructions;
    if (traces_ != nullptr && traces_->any())
      traces_->add_path(merged, {words, paths.length(word)}, paths[word].instructions, paths);
    return true;
  }
  void event(channel::MergeThread& merged, std::span<const uint64_t> words, channel::PathTable& paths);

  // The program has ended: what should have come by now, within the tolerance, is taken.
  void finish();

  uint64_t instructions() const { return retired_; }
  uint64_t simulated() const { return simulated_; }
  const std::vector<size_t>& missed() const { return missed_; }

 private:
  struct Process {
    bool met = false;
    std::string name;
    CodeModules modules;
    std::vector<uint8_t> state;                                   // of paths, by word: 0 new, 1 nothing, 2 watched
    std::unordered_map<uint64_t, std::vector<uint32_t>> watches;  // of watched paths: indices, one for each execution
  };
  bool has_watch(const channel::MergeThread& merged, uint64_t word, const channel::PathTable& paths) {
    if (merged_process_ != nullptr && process_of(merged) == process_index_ && word < merged_process_->state.size() &&
        merged_process_->state[word] != 0) [[likely]]
      return merged_process_->state[word] == 2;
    return learn(merged, word, paths);
  }
  // A place whose executions are counted, by one thread or by all of the process.
  struct Watch {
    std::string thread;  // empty: all
    uint32_t owner = 0;  // number of its process and thread
    uint64_t executions = 0;
    std::vector<size_t> stops = {};  // in their order
    size_t next = 0;                 // of them
  };
  bool learn(const channel::MergeThread& merged, uint64_t word, const channel::PathTable& paths);
  void look(channel::MergeThread& merged, uint64_t word);
  void meet(Process& process, const channel::MergeThread& merged, const channel::PathTable& paths);
  std::span<const uint32_t> watches_at(const Process& process, uint64_t pc) const;
  void count(const channel::MergeThread& merged, std::span<const uint32_t> watches, uint64_t times);
  bool reached(size_t stop) const;
  bool is_passed(size_t stop) const;
  void note_reached(size_t stop, uint32_t owner);
  uint64_t due(size_t stop) const;
  void take_stop(bool is_missed);
  // The first path of a thread in what is simulated: its fetches start anew, as in a replay of that alone.
  void begin(channel::MergeThread& merged) {
    if (merged.report.index >= began_.size()) began_.resize(merged.report.index + 1);
    began_[merged.report.index] = true;
    merged.replay.last_line = std::numeric_limits<uint64_t>::max();
  }
  void take_counts(channel::MergeThread& merged, std::span<const uint64_t> words, channel::PathTable& paths);
  void take_cut(channel::MergeThread& merged, uint64_t word, uint64_t instructions, channel::PathTable& paths);
  void take_retired(const channel::MergeThread& merged, uint64_t total);
  void change_mode(const channel::MergeThread& merged, border::Mode mode, uint64_t retired);
  void set_next_look();

  PcModelSink<sim::Hierarchy> model_;
  RegionTraces* traces_;
  std::vector<Stop> stops_;
  uint64_t tolerance_;
  OnStop on_stop_;
  OriginOf origin_of_;
  ThreadNames names_;
  std::map<std::tuple<std::string, std::string, uint64_t>, std::vector<uint32_t>>
      watches_of_place_;  // process, module, offset
  std::vector<uint32_t> watch_of_stop_;
  std::vector<Watch> watches_;
  std::vector<bool> reached_;         // by stop
  std::vector<bool> drifted_;         // by stop: its marker came too early
  std::vector<size_t> last_reached_;  // by owner: one more than the last of its stops that was reached
  size_t ahead_ = 0;                  // stops reached behind next_
  uint64_t near_;                     // instructions: how much too early a marker may be
  int64_t shift_ = 0;                 // of the stop that was reached last: instructions more than in the profile
  bool counts_ = false;               // threads were in count mode: retired_ was behind what they had executed
  std::map<uint32_t, Process> processes_;
  Process* merged_process_ = nullptr;  // the one met last
  uint32_t process_index_ = 0;
  size_t next_ = 0;
  std::vector<size_t> missed_;
  std::vector<uint64_t> counted_;  // by thread: what it said in count mode
  std::vector<bool> began_;        // by thread: fetches anew since what is simulated began
  uint64_t retired_ = 0, simulated_ = 0, next_look_ = 0;
  bool simulate_ = false;
};

}  // namespace simrun::cli
