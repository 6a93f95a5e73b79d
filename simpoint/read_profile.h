// Frequency vectors from a file: SimPoint's text (`.bb`, also gzip or zstd), or HDF5 as simrun writes it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "simpoint/profile.h"
#include "simpoint/projection.h"

namespace simrun::simpoint {

// One interval's vector, in order. The span is valid during the call. UserError that it throws gets the place in the
// file in front.
using OnVector = std::function<void(std::span<const Entry>)>;

struct ReadProfile {
  Profile profile;  // what the file says of it; of other tools' files nothing
  uint64_t vectors = 0;
  std::vector<std::string> warnings;  // what SimPoint 3.2 would read differently, with line numbers; what is missing
};

// One pass, in memory proportional to the number of intervals and blocks, not of entries. Throws UserError with file
// and line.
ReadProfile read_profile(const std::string& path, const OnVector& on_vector);

}  // namespace simrun::simpoint
