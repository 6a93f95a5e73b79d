// Parts of pictures in pages and SVG files.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace simrun::cli {

// Of what is drawn; the pages scale it.
constexpr double kPlotWidth = 1000, kPlotHeight = 110;

// A text within HTML and SVG; control characters are U+FFFD.
std::string escaped(const std::string& text);

// Neighbours in number are far apart in colour.
std::string colour_of(uint32_t number);

// A polyline, kPlotWidth x kPlotHeight, from 0 up to the largest value. Of very many values it shows the least and the most of those that would be in one place.
std::string curve(std::span<const double> values);
double most_of(std::span<const double> values);

}  // namespace simrun::cli
