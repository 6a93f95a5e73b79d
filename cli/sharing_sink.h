// References into a model that keeps details, and the names of what they touch: the sink of `simrun sharing` and of
// `simrun run --details`.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/sharing/shared_line.h"
#include "cli/detailed_sink.h"
#include "cli/missed_objects.h"
#include "cli/missed_places.h"
#include "cli/program_watcher.h"
#include "cli/run_result.h"
#include "instr/channel/thread_statistics.h"
#include "instr/host/family.h"
#include "sim/hierarchy.h"

namespace simrun::cli {

class SharingSink final : private sim::SiteObserver {
 public:
  static constexpr bool kWantsReferences = true;
  static constexpr bool kWantsPc = true;

  // All must outlive this. `watch`: null, or who is told how far the run is.
  SharingSink(sim::Hierarchy& model, host::Family& family, RunWatch* watch = nullptr)
      : model_(model), references_(model, &family), family_(family), watch_(watch) {
    model_.tell_of_sites(this);
  }
  ~SharingSink() { model_.tell_of_sites(nullptr); }

  uint32_t start_thread(const channel::ThreadReport& thread);
  uint32_t run_on(const channel::ThreadReport& thread) { return references_.run_on(thread); }
  // Behind the references of so many instructions.
  void advance(uint64_t instructions) {
    if (watch_ != nullptr) watch_->advance(instructions);
  }
  uint64_t until_stop() const { return watch_ == nullptr ? std::numeric_limits<uint64_t>::max() : watch_->next() - watch_->done(); }
  void fetch(uint32_t thread, uint64_t line, uint64_t pc) { references_.fetch(thread, line, pc); }
  void data(uint32_t thread, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, uint64_t pc) {
    references_.data(thread, kind, address, bytes, pc);
  }
  void event(uint32_t thread, border::Event event, std::span<const uint64_t> payload) {
    references_.event(thread, event, payload);
    watcher(thread).event(thread, event, payload);
  }
  void forget_process(uint32_t process) {
    references_.forget_process(process);
    if (process < watchers_.size() && watchers_[process] != nullptr) watchers_[process]->end();
  }
  void forget_paths(uint32_t process) {
    if (process < watchers_.size() && watchers_[process] != nullptr) watchers_[process]->forget_paths();
  }
  void after_path(uint32_t thread, const uint64_t* words, const channel::PathTable& paths) {
    watcher(thread).after_path(thread, words, paths);
  }

  // Lines with coherence misses, as the model counted them. They refer to this.
  std::vector<analysis::SharedLine> shared_lines() const;
  const sim::Hierarchy& model() const { return model_; }
  // Null: nothing is known of the process.
  const analysis::AddressSpace* space_of(uint32_t process) const {
    return process < watchers_.size() && watchers_[process] != nullptr ? &watchers_[process]->space() : nullptr;
  }
  // Of a line, by its number in the model. Null: it was never missed.
  const MissedPlaces* missed_places(uint64_t line) const {
    const auto known = missed_lines_.find(line);
    return known == missed_lines_.end() ? nullptr : &known->second;
  }
  const MissedObjects& objects() const { return objects_; }

 private:
  // Of places that come one after the other, the one that more than half of them were of, if there is one (Boyer and
  // Moore, MJRTY, 1981).
  struct Majority {
    analysis::Place place;
    uint64_t votes = 0;
    void vote(const analysis::Place& p);
  };
  struct SitePlaces {
    uint64_t line_address = 0;  // as its process has it
    analysis::Place code;
    Majority data;
  };
  ProgramWatcher& watcher(uint32_t thread) { return *watchers_[processes_[thread]]; }
  const analysis::AddressSpace& space(uint32_t thread) const { return watchers_[processes_[thread]]->space(); }
  void new_site(const sim::LineRecord& line, uint32_t site) override;
  void missed(const sim::Miss& miss) override;
  uint64_t transfer_cycles(const sim::LineRecord& line) const;

  sim::Hierarchy& model_;
  DetailedModelSink references_;
  host::Family& family_;
  RunWatch* watch_;
  std::vector<std::unique_ptr<ProgramWatcher>> watchers_;         // by process
  std::vector<uint32_t> processes_;                               // by thread
  std::unordered_map<uint64_t, std::vector<SitePlaces>> places_;  // by line, then by site
  std::unordered_map<uint64_t, MissedPlaces> missed_lines_;        // by line
  MissedObjects objects_;
};

}  // namespace simrun::cli
