#include "cli/phases/phase_plot.h"

#include <fmt/format.h>

#include <algorithm>

namespace simrun::cli {

namespace {

constexpr double kWidth = 1000, kHeight = 110, kStrip = 28;

std::string escape(const std::string& text) {
  std::string safe;
  for (const char c : text) safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return safe;
}

// Hues a golden angle apart: neighbours in number are far apart in colour.
std::string colour(uint32_t cluster) {
  return fmt::format("hsl({:.0f},65%,{}%)", cluster * 137.508, cluster % 2 ? 45 : 62);
}

std::string strip(std::span<const uint32_t> labels, const simpoint::RegionPlan& plan) {
  const double step = kWidth / static_cast<double>(labels.size());
  std::string svg = fmt::format("<svg viewBox='0 0 {} {}'>", kWidth, kStrip + 12);
  for (size_t i = 0; i < labels.size();) {
    size_t end = i;
    while (end < labels.size() && labels[end] == labels[i]) ++end;
    svg += fmt::format(
        "<rect x='{:.3f}' width='{:.3f}' height='{}' fill='{}'><title>phase {}, intervals {} to {}</title></rect>",
        step * static_cast<double>(i), step * static_cast<double>(end - i), kStrip, colour(labels[i]), labels[i], i,
        end - 1);
    i = end;
  }
  for (const simpoint::Region& r : plan.regions) {
    const double x = step * (static_cast<double>(r.interval) + 0.5);
    svg += fmt::format("<path d='M{:.2f} {} l-4 10 h8 z'><title>region {}, weight {:.3g}</title></path>", x, kStrip + 1,
                       r.id, r.weight);
  }
  return svg + "</svg>\n";
}

std::string curve(const PlotLine& line) {
  double most = 1e-9;
  for (const double value : line.by_interval) most = std::max(most, value);
  std::string points;
  const double step = kWidth / static_cast<double>(std::max<size_t>(line.by_interval.size(), 1));
  for (size_t i = 0; i < line.by_interval.size(); ++i)
    points += fmt::format("{:.2f},{:.2f} ", step * (static_cast<double>(i) + 0.5),
                          kHeight - kHeight * line.by_interval[i] / most);
  return fmt::format(
      "<h3>{} <small>up to {:.4g}</small></h3><svg viewBox='0 -2 {} {}'><polyline points='{}' fill='none' "
      "stroke='#234' stroke-width='1'/></svg>\n",
      escape(line.name), most, kWidth, kHeight + 4, points);
}

}  // namespace

std::string phase_plot(const std::string& title, std::span<const uint32_t> labels, const simpoint::RegionPlan& plan,
                       std::span<const PlotLine> lines, const std::string& table) {
  std::string html = fmt::format(
      "<!DOCTYPE html><html><head><meta charset='utf-8'><title>{0}</title><style>body{{font:15px "
      "sans-serif;max-width:1040px;"
      "margin:2em auto}}svg{{width:100%;display:block}}h3{{margin:.8em 0 "
      ".2em}}small{{color:#777}}</style></head><body>\n"
      "<h1>{0}</h1><h3>phases <small>by interval; triangles are the regions</small></h3>\n",
      escape(title));
  html += strip(labels, plan);
  for (const PlotLine& line : lines) html += curve(line);
  return html + "<pre>" + escape(table) + "</pre></body></html>\n";
}

}  // namespace simrun::cli
