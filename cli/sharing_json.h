// The sharing table for scripts. docs/sharing.md documents every key; tests/cli/sharing_json_test.cpp compares the two.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/sharing/sharing_report.h"
#include "cli/run_result.h"

namespace simrun::cli {

inline constexpr const char* kSharingSchema = "simrun-sharing-1";

nlohmann::ordered_json sharing_json(const RunResult& result, const analysis::SharingReport& report);

}  // namespace simrun::cli
