#include "cli/missed_places.h"

#include <algorithm>

namespace simrun::cli {

namespace {

bool is_block(const analysis::Place& place) { return place.kind == analysis::PlaceKind::kHeap || place.kind == analysis::PlaceKind::kMapping; }

bool are_same(const MissedPlace& a, const MissedPlace& b, const analysis::AddressSpace& space) {
  if (a.process != b.process || a.is_code != b.is_code || a.place.kind != b.place.kind || (!a.is_code && a.place.offset != b.place.offset)) return false;
  return a.place.id == b.place.id || (is_block(a.place) && space.block(a.place).site == space.block(b.place).site);
}

}  // namespace

void MissedPlaces::add(const MissedPlace& missed, const analysis::AddressSpace& space) {
  const auto known = std::find_if(places_.begin(), places_.end(), [&](const MissedPlace& p) { return are_same(p, missed, space); });
  if (known != places_.end()) {
    known->misses += missed.misses;
  } else if (places_.size() < kMost) {
    places_.push_back(missed);
  } else {
    MissedPlace& least = *std::min_element(places_.begin(), places_.end(), [](const auto& a, const auto& b) { return a.misses < b.misses; });
    const uint64_t before = least.misses;
    least = missed;
    least.misses += before;
  }
}

}  // namespace simrun::cli
