#include "sim/parallel/filtered_machines.h"

#include <algorithm>

namespace simrun::sim {

namespace {

// TLBs and prefetchers see hits, too, and pages get places by the first reference.
bool can_be_filtered(const MachineConfig& m) {
  if (m.tlb || m.addresses != Addresses::kVirtual) return false;
  return HitFilter::can_filter(m) && std::none_of(m.levels.begin(), m.levels.end(), [](const LevelConfig& level) {
    return !level.unified.prefetch.empty() || !level.instruction.prefetch.empty() || !level.data.prefetch.empty();
  });
}

}  // namespace

bool FilteredMachines::are_alike(const MachineConfig& machine, const MachineConfig& other) {
  const LevelConfig &a = machine.levels[0], &b = other.levels[0];
  const auto same = [](const CacheShape& x, const CacheShape& y) { return x.size_bytes == y.size_bytes && x.ways == y.ways; };
  return can_be_filtered(machine) && can_be_filtered(other) && a.split == b.split && same(a.unified, b.unified) &&
         same(a.instruction, b.instruction) && same(a.data, b.data);
}

FilteredMachines::FilteredMachines(std::span<Hierarchy* const> machines, std::span<const MachineConfig> configs)
    : lister_(configs) {
  for (Hierarchy* machine : machines) replays_.emplace_back(*machine, 0, 1);
}

void FilteredMachines::end() {
  lister_.end();
  replay();
}

Batch& FilteredMachines::next() {
  if (listed_ == kBatches) replay();
  Batch& batch = batches_[listed_++];
  batch.groups.clear();
  return batch;
}

void FilteredMachines::replay() {
  for (GroupReplay& machine : replays_)
    for (size_t i = 0; i < listed_; ++i) machine.run(batches_[i]);
  listed_ = 0;
}

}  // namespace simrun::sim
