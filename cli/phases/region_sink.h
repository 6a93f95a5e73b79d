// The sink of a run that is simulated in parts: counts every instruction, gives references to the model only where it
// is told to, and says when each stop is reached.
//
// A stop is reached by its marker: the path with that execution of the instruction is the first behind it. When the
// run is further than the marker's place in the profile by more than `tolerance`, the stop is taken by the number of
// instructions, and counted as missed.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/model_sink.h"
#include "cli/phases/block_profiler.h"
#include "cli/phases/code_modules.h"
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
  // Before the first path behind the stop. `instructions`: retired so far.
  using OnStop = std::function<void(size_t stop, uint64_t instructions)>;

  RegionSink(sim::Hierarchy& model, std::vector<Stop> stops, uint64_t tolerance, OnStop on_stop);

  uint32_t start_thread(const channel::ThreadReport& thread) { return core_of_thread(thread.index, model_.cores()); }
  void fetch(uint32_t core, uint64_t line) {
    if (simulate_) model_.access_line(core, sim::Access::kFetch, line);
  }
  void data(uint32_t core, channel::ReferenceKind kind, uint64_t address, uint32_t bytes) {
    if (simulate_) model_.access(core, access_of(kind), address, bytes);
  }
  bool enter_path(channel::MergeThread& merged, const uint64_t* words, const channel::PathTable& paths) {
    const uint64_t word = words[0];
    if (retired_ >= next_look_ || has_watch(merged, word, paths)) [[unlikely]]
      look(merged, word);
    retired_ += paths[word].instructions;
    simulated_ += simulate_ ? paths[word].instructions : 0;
    return simulate_;
  }
  void event(channel::MergeThread& merged, std::span<const uint64_t> words);

  uint64_t instructions() const { return retired_; }
  uint64_t simulated() const { return simulated_; }
  size_t stops_reached() const { return next_; }
  const std::vector<size_t>& missed() const { return missed_; }

 private:
  struct Process {
    bool met = false;
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
  bool learn(const channel::MergeThread& merged, uint64_t word, const channel::PathTable& paths);
  void look(const channel::MergeThread& merged, uint64_t word);
  bool reached(const Stop& stop, uint32_t watch) const;
  void set_next_look();

  sim::Hierarchy& model_;
  std::vector<Stop> stops_;
  uint64_t tolerance_;
  OnStop on_stop_;
  std::map<std::pair<std::string, uint64_t>, uint32_t> watch_of_place_;
  std::vector<uint32_t> watch_of_stop_;
  std::vector<uint64_t> executions_;  // of each watched place
  std::map<uint32_t, Process> processes_;
  Process* merged_process_ = nullptr;  // the one met last
  uint32_t process_index_ = 0;
  size_t next_ = 0;
  std::vector<size_t> missed_;
  uint64_t retired_ = 0, simulated_ = 0, next_look_ = 0;
  bool simulate_ = false;
};

}  // namespace simrun::cli
