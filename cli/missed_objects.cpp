#include "cli/missed_objects.h"

#include <algorithm>

namespace simrun::cli {

using analysis::PlaceKind;

ObjectCounts& ObjectCounts::operator+=(const ObjectCounts& o) {
  for (size_t level = 0; level < misses.size(); ++level) misses[level] += o.misses[level];
  coherence_misses += o.coherence_misses, upgrades += o.upgrades;
  latency += o.latency;
  blocks += o.blocks, bytes += o.bytes;
  return *this;
}

void MissedObjects::add(uint32_t process, const analysis::AddressSpace& space, const analysis::Place& place, const sim::Miss& miss) {
  ObjectKey key{process, miss.kind == sim::Access::kFetch && place.kind == PlaceKind::kModule, place};
  uint64_t new_bytes = 0;
  bool is_new = false;
  if (place.kind == PlaceKind::kHeap || place.kind == PlaceKind::kMapping) {
    if (process >= blocks_.size()) blocks_.resize(process + 1);
    Blocks& blocks = blocks_[process][place.kind == PlaceKind::kMapping];
    const analysis::Block& block = space.block(place);
    key.place = {place.kind, blocks.first.try_emplace(block.site, place.id).first->second, 0};
    if (place.id >= blocks.seen.size()) blocks.seen.resize(std::max<size_t>(place.id + 1, blocks.seen.size() * 2));
    is_new = !blocks.seen[place.id];
    blocks.seen[place.id] = true;
    if (is_new) new_bytes = block.bytes;
  } else if (key.is_code || (place.kind != PlaceKind::kModule && place.kind != PlaceKind::kThread)) {
    key.place.offset = 0;
  }
  ObjectCounts& counts = objects_[key];
  for (size_t level = 0; level < miss.misses.size(); ++level) counts.misses[level] += miss.misses[level];
  counts.coherence_misses += miss.is_coherence_miss, counts.upgrades += miss.is_upgrade;
  counts.latency += miss.latency;
  counts.blocks += is_new, counts.bytes += new_bytes;
}

}  // namespace simrun::cli
