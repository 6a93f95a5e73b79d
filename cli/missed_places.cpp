#include "cli/missed_places.h"

#include <algorithm>

namespace simrun::cli {

namespace {

bool is_block(const analysis::Place& place) { return place.kind == analysis::PlaceKind::kHeap || place.kind == analysis::PlaceKind::kMapping; }

bool are_same(const analysis::Place& a, const analysis::Place& b, const analysis::AddressSpace& space) {
  if (a.kind != b.kind || a.offset != b.offset) return false;
  return a.id == b.id || (is_block(a) && space.block(a).site == space.block(b).site);
}

}  // namespace

void MissedPlaces::add(uint32_t process, uint64_t line_address, const analysis::Place& place, const analysis::AddressSpace& space) {
  const auto known = std::find_if(places_.begin(), places_.end(), [&](const MissedPlace& p) { return p.process == process && are_same(p.place, place, space); });
  if (known != places_.end()) {
    ++known->misses;
  } else if (places_.size() < kMost) {
    places_.push_back({process, line_address, place, 1});
  } else {
    MissedPlace& least = *std::min_element(places_.begin(), places_.end(), [](const auto& a, const auto& b) { return a.misses < b.misses; });
    least = {process, line_address, place, least.misses + 1};
  }
}

}  // namespace simrun::cli
