#include "cli/option_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/parse_count.h"
#include "base/parse_quantity.h"

namespace simrun::cli {

namespace {

// `read` takes a word, changes it, and returns what is wrong with it.
template <class Read>
CLI::Validator validator(Read read) {
  return CLI::Validator(read, "");
}

// All of `text` as a number. No infinity, no NaN.
template <class Number>
bool parse(std::string_view text, Number* value) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, *value);
  if (error != std::errc{} || at != end) return false;
  if constexpr (std::is_floating_point_v<Number>) return std::isfinite(*value);
  return true;
}

bool is_digits(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == text.npos; }

// Of a unit of bytes, in any case; 0: not known.
double bytes_of(std::string_view unit) {
  std::string small(unit);
  std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) { return std::tolower(c); });
  if (small.empty() || small == "b") return 1;
  const std::string_view rest = std::string_view(small).substr(1);
  if (rest != "" && rest != "b" && rest != "ib" && rest != "i") return 0;
  const size_t power = std::string_view("kmgt").find(small[0]);
  return power == std::string_view::npos ? 0 : std::ldexp(1.0, 10 * (static_cast<int>(power) + 1));
}

std::string size_text(uint64_t bytes) {
  constexpr const char* kUnits[] = {"", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && bytes != 0 && bytes % 1024 == 0) bytes /= 1024, ++unit;
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

}  // namespace

CLI::Validator instruction_count(uint64_t least, uint64_t most) {
  return validator([=](std::string& word) -> std::string {
    uint64_t count = 0;
    if (!parse_count(word, &count)) return word + " is no number of instructions (1000000, 10M, 1.5G)";
    if (count < least || count > most) return fmt::format("{} is not from {} to {}", word, least, most);
    word = std::to_string(count);
    return "";
  });
}

CLI::Validator whole_number(uint64_t least, uint64_t most) {
  return validator([=](std::string& word) -> std::string {
    uint64_t number = 0;
    const bool is_number = is_digits(word);
    if (is_number && parse(word, &number) && number >= least && number <= most) return "";
    return fmt::format("{} is {} from {} to {}", word, is_number ? "not" : "no whole number", least, most);
  });
}

CLI::Validator real_number(double least, double most) {
  return validator([=](std::string& word) -> std::string {
    double number = 0;
    if (parse(word, &number) && number >= least && number <= most) return "";
    return fmt::format("{} is no number from {} to {}", word, least, most);
  });
}

CLI::Validator positive_number() {
  return validator([](std::string& word) -> std::string {
    double number = 0;
    return parse(word, &number) && number > 0 ? "" : word + " is no number above 0";
  });
}

CLI::Validator size_in_bytes(uint64_t least, uint64_t most) {
  return validator([=](std::string& word) -> std::string {
    double number = 0;
    std::string_view unit;
    if (!split_quantity(word, &number, &unit) || bytes_of(unit) == 0)
      return word + " is no size (65536, 256KiB, 1.5MiB; powers of 1024)";
    const double bytes = number * bytes_of(unit);
    if (bytes < static_cast<double>(least) || bytes > static_cast<double>(most))
      return fmt::format("{} is not from {} to {}", word, size_text(least), size_text(most));
    if (bytes != std::floor(bytes)) return word + " is no whole number of bytes";
    word = std::to_string(static_cast<uint64_t>(bytes));
    return "";
  });
}

CLI::Validator duration() {
  return validator([](std::string& word) -> std::string {
    double seconds = 0;
    if (!parse_duration(word, &seconds) || !(seconds > 0)) return word + " is no time (500ms, 10s, 5m, 1h)";
    word = fmt::format("{}", seconds);
    return "";
  });
}

CLI::Validator one_of(std::vector<std::string> words, ChoiceBecomes becomes) {
  return validator([words = std::move(words), becomes](std::string& word) -> std::string {
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end()) return fmt::format("\"{}\" is unknown; there are {}", word, fmt::join(words, ", "));
    if (becomes == ChoiceBecomes::kPlace) word = std::to_string(found - words.begin());
    return "";
  });
}

std::string alternatives(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, "|")); }

}  // namespace simrun::cli
