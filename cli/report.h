// The report for people: a table of some twenty lines, on standard error.
#pragma once

#include <string>

#include "cli/run_result.h"

namespace simrun::cli {

// The whole report, ending in a newline.
std::string text_report(const RunResult& result);
// Only what --stats engine adds.
std::string engine_report(const RunResult& result);

// Misses by class, lifetimes, reuse distances, instructions and lines that miss most (details_report.cpp); empty without
// --details.
std::string details_report(const RunResult& result);

// "1,234,567".
std::string grouped(uint64_t number);
// One line of the header; empty: it was the whole run.
std::string region_line(const RunResult& result);

}  // namespace simrun::cli
