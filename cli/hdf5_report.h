// The JSON results as an HDF5 file: docs/results-hdf5.md has the rules and the schema.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace simrun::cli {

// The file as bytes. Throws UserError when HDF5 fails (memory).
std::string hdf5_report(const nlohmann::ordered_json& results);
// Of a number by the name of its key: "cycles", "bytes", "s", "1" (a count or a ratio), ...
std::string unit_of(const std::string& key);

}  // namespace simrun::cli
