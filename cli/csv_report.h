// The JSON results as a table.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace simrun::cli {

// One row for each number of the results: where it is, and its value.
std::string csv_report(const nlohmann::ordered_json& results);

}  // namespace simrun::cli
