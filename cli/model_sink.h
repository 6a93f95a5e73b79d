// References into the cache model. Here the engine's side and the model meet: neither knows the other.
#pragma once

#include <array>
#include <cstdint>

#include "cli/run_result.h"
#include "instr/channel/reference.h"
#include "instr/channel/thread_statistics.h"
#include "sim/hierarchy.h"

namespace simrun::cli {

class ModelSink final {
 public:
  static constexpr bool kWantsReferences = true;

  explicit ModelSink(sim::Hierarchy& model) : model_(model) {}

  uint32_t start_thread(const channel::ThreadReport& thread) { return core_of_thread(thread.index, model_.cores()); }
  void fetch(uint32_t core, uint64_t line) { model_.access_line(core, sim::Access::kFetch, line); }
  void data(uint32_t core, channel::ReferenceKind kind, uint64_t address, uint32_t bytes) {
    model_.access(core, access_of(kind), address, bytes);
  }

 private:
  // The first six kinds are the same in both; non-temporal accesses are simulated as ordinary ones.
  static sim::Access access_of(channel::ReferenceKind kind) {
    using channel::ReferenceKind;
    constexpr std::array kAccess = {
        sim::Access::kFetch,    sim::Access::kLoad,  sim::Access::kStore, sim::Access::kReadModifyWrite,
        sim::Access::kPrefetch, sim::Access::kFlush, sim::Access::kLoad,  sim::Access::kStore};
    static_assert(kAccess[static_cast<size_t>(ReferenceKind::kFlush)] == sim::Access::kFlush);
    static_assert(kAccess[static_cast<size_t>(ReferenceKind::kNonTemporalStore)] == sim::Access::kStore);
    return kAccess[static_cast<size_t>(kind)];
  }

  sim::Hierarchy& model_;
};

}  // namespace simrun::cli
