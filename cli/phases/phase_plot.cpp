#include "cli/phases/phase_plot.h"

#include <fmt/format.h>

#include "cli/svg_parts.h"

namespace simrun::cli {

namespace {

constexpr double kStrip = 28;

// The elements, without the <svg> around them: kPlotWidth x kStrip + 12.
std::string strip(std::span<const uint32_t> labels, const simpoint::RegionPlan& plan) {
  const double step = kPlotWidth / static_cast<double>(labels.size());
  std::string svg;
  for (size_t i = 0; i < labels.size();) {
    size_t end = i;
    while (end < labels.size() && labels[end] == labels[i]) ++end;
    svg += fmt::format(
        "<rect x='{:.3f}' width='{:.3f}' height='{}' fill='{}'><title>phase {}, intervals {} to {}</title></rect>",
        step * static_cast<double>(i), step * static_cast<double>(end - i), kStrip, colour_of(labels[i]), labels[i], i,
        end - 1);
    i = end;
  }
  for (const simpoint::Region& r : plan.regions) {
    const double x = step * (static_cast<double>(r.interval) + 0.5);
    svg += fmt::format("<path d='M{:.2f} {} l-4 10 h8 z'><title>region {}, weight {:.3g}</title></path>", x, kStrip + 1,
                       r.id, r.weight);
  }
  return svg + "\n";
}

std::string label(double y, const std::string& text) {
  return fmt::format("<text x='0' y='{}'>{}</text>\n", y, escaped(text));
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
      escaped(title));
  html += fmt::format("<svg viewBox='0 0 {} {}'>{}</svg>\n", kPlotWidth, kStrip + 12, strip(labels, plan));
  for (const PlotLine& line : lines)
    html += fmt::format("<h3>{} <small>up to {:.4g}</small></h3><svg viewBox='0 -2 {} {}'>{}</svg>\n",
                        escaped(line.name), most_of(line.by_interval), kPlotWidth, kPlotHeight + 4, curve(line.by_interval));
  return html + "<pre>" + escaped(table) + "</pre></body></html>\n";
}

std::string phase_picture(const std::string& title, std::span<const uint32_t> labels, const simpoint::RegionPlan& plan,
                          std::span<const PlotLine> lines) {
  constexpr double kText = 20, kEdge = 10;
  double y = 2 * kText;
  std::string body =
      label(kText - 4, title) +
      label(2 * kText - 4, fmt::format("phases of {} intervals; triangles are the regions", labels.size()));
  const auto place = [&](double height, const std::string& elements) {
    body += fmt::format("<g transform='translate(0,{})'>{}</g>\n", y, elements);
    y += height;
  };
  place(kStrip + 12, strip(labels, plan));
  for (const PlotLine& line : lines) {
    y += kText;
    body += label(y - 4, fmt::format("{}, up to {:.4g}", line.name, most_of(line.by_interval)));
    place(kPlotHeight, curve(line.by_interval));
  }
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='{2} {2} {0} {1}' "
      "font-family='sans-serif' font-size='14'>\n<rect x='{2}' y='{2}' width='100%' height='100%' fill='white'/>\n"
      "{3}</svg>\n",
      kPlotWidth + 2 * kEdge, y + 2 * kEdge, -kEdge, body);
}

}  // namespace simrun::cli
