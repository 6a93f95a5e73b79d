// The results for scripts. docs/results.md documents every key; tests/cli/json_report_test.cpp compares the two.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/run_result.h"

namespace simrun::cli {

// Raised when a key goes or changes its meaning; added keys do not count.
inline constexpr const char* kResultsSchema = "simrun-results-2";

nlohmann::ordered_json json_report(const RunResult& result);
// Its "region": null for the whole run.
nlohmann::ordered_json region_json(const std::optional<RegionReport>& region);

}  // namespace simrun::cli
