// What to change about a line, in one sentence.
#pragma once

#include <string>

#include "analysis/sharing/sharing_report.h"

namespace simrun::analysis {

std::string propose_fix(const SharingLine& line, uint32_t line_bytes);

}  // namespace simrun::analysis
