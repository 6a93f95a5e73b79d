#include "base/parse_count.h"

#include <charconv>
#include <cmath>

namespace simrun {

namespace {

double factor_of(char unit) {
  switch (unit) {
    case 'k':
    case 'K':
      return 1e3;
    case 'm':
    case 'M':
      return 1e6;
    case 'g':
    case 'G':
    case 'B':
      return 1e9;
    default:
      return 1;
  }
}

}  // namespace

bool parse_count(std::string_view text, uint64_t* value) {
  const double factor = text.empty() ? 1 : factor_of(text.back());
  if (factor != 1) text.remove_suffix(1);
  const char* const end = text.data() + text.size();
  if (const auto [at, error] = std::from_chars(text.data(), end, *value); error == std::errc{} && at == end && factor == 1)
    return true;
  double number = 0;
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || at != end || !(number >= 0) || number * factor > 1e18) return false;
  *value = static_cast<uint64_t>(std::llround(number * factor));
  return true;
}

}  // namespace simrun
