// Numbers with a unit behind them, as people write them in options and in files.
#pragma once

#include <string_view>

namespace simrun {

// "1.5 MiB" into 1.5 and "MiB"; the unit may be empty. False: there is no number at the start, or it is not finite.
bool split_quantity(std::string_view text, double* number, std::string_view* unit);

// "500ms", "10s", "5m" or "5min", "1h", and "10" (seconds); false when `text` is no such time.
bool parse_duration(std::string_view text, double* seconds);

}  // namespace simrun
