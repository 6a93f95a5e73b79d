// The HDF5 form of a profile (schema: docs/phases.md).
#pragma once

#include <string>

#include "simpoint/read_profile.h"

namespace simrun::simpoint {

ReadProfile read_hdf5_profile(const std::string& path, const OnVector& on_vector);

}  // namespace simrun::simpoint
