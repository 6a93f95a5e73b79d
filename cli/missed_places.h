// What the bytes of a line belonged to that were missed. Blocks come and go at the same addresses, and elements of one
// array miss by turns, so no single place need have most of a line's misses.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/memory/address_space.h"

namespace simrun::cli {

struct MissedPlace {
  uint32_t process = 0;
  uint64_t line_address = 0;  // as the process has it
  analysis::Place place;
  bool is_code = false;  // of a module, and fetched
  uint64_t misses = 0;
};

class MissedPlaces {
 public:
  // Blocks that the same code allocated count as one, by offset; so does code of a module.
  void add(const MissedPlace& missed, const analysis::AddressSpace& space);

  // Those that more than a kMost-th of the misses were on are among them, each with at most a kMost-th of all too many (Metwally, Agrawal and El Abbadi,
  // "Efficient computation of frequent and top-k elements in data streams", ICDT 2005: space-saving).
  const std::vector<MissedPlace>& all() const { return places_; }
  static constexpr size_t kMost = 16;

 private:
  std::vector<MissedPlace> places_;
};

}  // namespace simrun::cli
