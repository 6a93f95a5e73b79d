// References into a model that keeps details, and the names of what they touch: the sink of `simrun sharing`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/sharing/shared_line.h"
#include "cli/model_sink.h"
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

  // Both must outlive this.
  SharingSink(sim::Hierarchy& model, host::Family& family) : model_(model), references_(model), family_(family) {
    model_.tell_of_sites(this);
  }
  ~SharingSink() { model_.tell_of_sites(nullptr); }

  uint32_t start_thread(const channel::ThreadReport& thread);
  void fetch(uint32_t thread, uint64_t line, uint64_t pc) { references_.fetch(thread, line, pc); }
  void data(uint32_t thread, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, uint64_t pc) {
    references_.data(thread, kind, address, bytes, pc);
  }
  void event(uint32_t thread, border::Event event, std::span<const uint64_t> payload) {
    watcher(thread).event(thread, event, payload);
  }
  void after_path(uint32_t thread, const uint64_t* words, const channel::PathTable& paths) {
    watcher(thread).after_path(thread, words, paths);
  }

  // Lines with coherence misses, as the model counted them. They refer to this.
  std::vector<analysis::SharedLine> shared_lines() const;

 private:
  struct SitePlaces {
    analysis::Place code, data;
  };
  ProgramWatcher& watcher(uint32_t thread) { return *watchers_[processes_[thread]]; }
  const analysis::AddressSpace& space(uint32_t thread) const { return watchers_[processes_[thread]]->space(); }
  void new_site(const sim::LineRecord& line, uint32_t site) override;
  uint64_t transfer_cycles(const sim::LineRecord& line) const;

  sim::Hierarchy& model_;
  DetailedModelSink references_;
  host::Family& family_;
  std::vector<std::unique_ptr<ProgramWatcher>> watchers_;         // by process
  std::vector<uint32_t> processes_;                               // by thread
  std::unordered_map<uint64_t, std::vector<SitePlaces>> places_;  // by line, then by site
};

}  // namespace simrun::cli
