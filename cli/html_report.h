// The results as a page for people: one HTML file with nothing outside it, no scripts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace simrun::cli {

// `results`: what json_report() makes. Its tables have the numbers of docs/results.md.
std::string html_report(const nlohmann::ordered_json& results);

}  // namespace simrun::cli
