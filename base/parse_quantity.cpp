#include "base/parse_quantity.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

namespace simrun {

bool split_quantity(std::string_view text, double* number, std::string_view* unit) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  if (error != std::errc{} || !std::isfinite(*number)) return false;
  text.remove_prefix(static_cast<size_t>(at - text.data()));
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  *unit = text;
  return true;
}

bool parse_duration(std::string_view text, double* seconds) {
  double number = 0;
  std::string_view unit;
  if (!split_quantity(text, &number, &unit)) return false;
  static constexpr std::pair<std::string_view, double> kSeconds[] = {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}};
  const auto* const known = std::find_if(std::begin(kSeconds), std::end(kSeconds), [&](const auto& k) { return k.first == unit; });
  if (known == std::end(kSeconds)) return false;
  *seconds = number * known->second;
  return true;
}

}  // namespace simrun
