#include "cli/svg_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace simrun::cli {

constexpr size_t kMostPoints = 4000;

std::string escaped(const std::string& text) {
  std::string safe;
  const auto is_control = [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; };
  for (const char c : text) safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '\'' ? "&#39;" : c == '"' ? "&quot;" : is_control(c) ? "&#xFFFD;" : std::string(1, c);
  return safe;
}

// Hues a golden angle apart. As red, green and blue, because not every reader of SVG knows hsl().
std::string colour_of(uint32_t number) {
  const double hue = std::fmod(number * 137.508, 360.0) / 30, light = number % 2 ? 0.45 : 0.62;
  const double amplitude = 0.65 * std::min(light, 1 - light);
  const auto part = [&](double n) {
    const double k = std::fmod(n + hue, 12.0);
    return static_cast<int>(std::lround(255 * (light - amplitude * std::clamp(std::min(k - 3, 9 - k), -1.0, 1.0))));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", part(0), part(8), part(4));
}

double most_of(std::span<const double> values) {
  double most = 1e-9;
  for (const double value : values) most = std::max(most, value);
  return most;
}

std::string curve(std::span<const double> values) {
  const double most = most_of(values);
  std::string points;
  const double step = kPlotWidth / static_cast<double>(std::max<size_t>(values.size(), 1));
  const auto add = [&](size_t i, double value) { points += fmt::format("{:.2f},{:.2f} ", step * (static_cast<double>(i) + 0.5), kPlotHeight - kPlotHeight * value / most); };
  if (values.size() <= kMostPoints) {
    for (size_t i = 0; i < values.size(); ++i) add(i, values[i]);
  } else {
    // More than can be seen: the least and the most of each column.
    const size_t columns = kMostPoints / 2;
    for (size_t column = 0; column < columns; ++column) {
      const size_t begin = values.size() * column / columns, end = values.size() * (column + 1) / columns;
      const auto [least, largest] = std::minmax_element(values.begin() + static_cast<ptrdiff_t>(begin), values.begin() + static_cast<ptrdiff_t>(end));
      add(begin, *least);
      add(begin, *largest);
    }
  }
  return fmt::format("<polyline points='{}' fill='none' stroke='#234' stroke-width='1'/>\n", points);
}

}  // namespace simrun::cli
