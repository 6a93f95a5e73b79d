// Machines that have level 1 alike, by one host thread: their references are made and filtered once (reference_lister.h), and what
// is left is simulated by each. Each counts what it would alone.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "sim/hierarchy.h"
#include "sim/parallel/reference_lister.h"
#include "sim/parallel/replay_groups.h"

namespace simrun::sim {

class FilteredMachines final : private BatchTaker {
 public:
  // May `other` be among the machines of which `machine` is one? A machine that may not be with itself may be with none.
  static bool are_alike(const MachineConfig& machine, const MachineConfig& other);

  // `configs`: of the machines, all alike.
  FilteredMachines(std::span<Hierarchy* const> machines, std::span<const MachineConfig> configs);

  // Where the references go between begin() and end(); then they are simulated.
  ReferenceLister& lister() { return lister_; }
  void begin() { lister_.begin(*this); }
  void end();

 private:
  // What is listed before the machines take it, one after the other: each begins with its state out of the host's caches.
  static constexpr size_t kBatches = 16;

  Batch& next() override;
  void replay();

  ReferenceLister lister_;
  std::vector<GroupReplay> replays_;  // of each machine
  std::array<Batch, kBatches> batches_;
  size_t listed_ = 0;  // batches
};

}  // namespace simrun::sim
