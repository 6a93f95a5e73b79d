// The parts of the JSON report that are there with --details.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/hot_spots.h"
#include "sim/build/machine_config.h"
#include "sim/stats/cache_details.h"

namespace simrun::cli {

// Text that may hold bytes that are no UTF-8 (file names): those become U+FFFD.
std::string valid_text(const std::string& bytes);

// Adds `miss_classes`, `lifetimes` and `reuse`; null without details.
void put_details(nlohmann::ordered_json& json, const std::optional<sim::CacheDetails>& details);
// The same of an interval: true and false sharing as one, `coherence`.
void put_details_of_interval(nlohmann::ordered_json& json, const sim::CacheDetails& details);
nlohmann::ordered_json hot_functions(const HotSpots& spots, const sim::MachineConfig& machine);
nlohmann::ordered_json hot_instructions(const HotSpots& spots, const sim::MachineConfig& machine);
nlohmann::ordered_json hot_objects(const HotSpots& spots, const sim::MachineConfig& machine);
nlohmann::ordered_json hot_lines(const HotSpots& spots, const sim::MachineConfig& machine);

}  // namespace simrun::cli
