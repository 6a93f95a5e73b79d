// The HDF5 form of a profile (schema: docs/phases.md).
#pragma once

#include <memory>
#include <string>

#include "simpoint/write_profile.h"

namespace simrun::simpoint {

std::unique_ptr<ProfileWriter> make_hdf5_writer(const std::string& path);

}  // namespace simrun::simpoint
