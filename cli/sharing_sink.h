// References into a model that keeps details, and the names of what they touch: the sink of `simrun sharing`.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/sharing/shared_line.h"
#include "cli/model_sink.h"
#include "cli/program_watcher.h"
#include "cli/run_result.h"
#include "instr/channel/thread_statistics.h"
#include "sim/hierarchy.h"

namespace simrun::cli {

class SharingSink final : private sim::SiteObserver {
 public:
  static constexpr bool kWantsReferences = true;
  static constexpr bool kWantsPc = true;

  // Both must outlive this.
  SharingSink(sim::Hierarchy& model, const host::Target& target) : model_(model), references_(model), watcher_(target) {
    model_.tell_of_sites(this);
  }
  ~SharingSink() { model_.tell_of_sites(nullptr); }

  uint32_t start_thread(const channel::ThreadReport& thread) { return references_.start_thread(thread); }
  void fetch(uint32_t thread, uint64_t line, uint64_t pc) { references_.fetch(thread, line, pc); }
  void data(uint32_t thread, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, uint64_t pc) {
    references_.data(thread, kind, address, bytes, pc);
  }
  void event(uint32_t thread, border::Event event, std::span<const uint64_t> payload) {
    watcher_.event(thread, event, payload);
  }
  void after_path(uint32_t thread, const uint64_t* words, const channel::PathTable& paths) {
    watcher_.after_path(thread, words, paths);
  }

  const analysis::AddressSpace& space() const { return watcher_.space(); }
  // Lines with coherence misses, as the model counted them.
  std::vector<analysis::SharedLine> shared_lines() const;

 private:
  struct SitePlaces {
    analysis::Place code, data;
  };
  void new_site(const sim::LineRecord& line, uint32_t site) override;
  uint64_t transfer_cycles(const sim::LineRecord& line) const;

  sim::Hierarchy& model_;
  DetailedModelSink references_;
  ProgramWatcher watcher_;
  std::unordered_map<uint64_t, std::vector<SitePlaces>> places_;  // by line, then by site
};

}  // namespace simrun::cli
