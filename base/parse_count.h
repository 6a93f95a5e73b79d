// Counts as people write them on a command line: 1000000, 250k, 2.5M, 1G or 1B (powers of 1000).
#pragma once

#include <cstdint>
#include <string_view>

namespace simrun {

// False when `text` is no such number; with a unit or a point also above 10^18.
bool parse_count(std::string_view text, uint64_t* value);

}  // namespace simrun
