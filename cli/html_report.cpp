#include "cli/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "cli/report.h"
#include "cli/svg_parts.h"
#include "configs/describe_machine.h"
#include "configs/read_machine.h"

namespace simrun::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kStyle =
    "body{font:15px/1.4 sans-serif;max-width:1080px;margin:2em auto;padding:0 1em;color:#123}"
    "h1{font-size:1.4em;overflow-wrap:anywhere}h2{font-size:1.1em;margin:1.6em 0 .3em}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:.1em .7em;text-align:right;border-bottom:1px solid #dde}"
    "th{font-weight:600}td.t,th.t{text-align:left;overflow-wrap:anywhere}svg{width:100%;display:block}small{color:#678;font-weight:normal}"
    "pre{overflow-x:auto;font-size:12px;line-height:1.25}.w{color:#a20}.k{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 1em}"
    "div.s{overflow-x:auto}";

std::string count(const Json& value) { return value.is_number() ? grouped(value.get<uint64_t>()) : "-"; }
std::string real(const Json& value) { return value.is_number() ? fmt::format("{:.3f}", value.get<double>()) : "-"; }
std::string text(const Json& value) { return value.is_string() ? value.get<std::string>() : ""; }
double number(const Json& value) { return value.is_number() ? value.get<double>() : 0; }

// A table under its headings. Columns whose heading begins with a blank are text.
class Table {
 public:
  explicit Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // A cell's colour, such as a matrix has.
  void shade(size_t column, double part) {
    if (part > 0) shades_[{rows_.size() - 1, column}] = part;
  }
  std::string html() const {
    if (rows_.empty()) return "";
    std::string out = "<div class='s'><table><tr>";
    for (const std::string& heading : headings_) out += fmt::format("<th{}>{}</th>", kind(heading), escaped(heading));
    out += "</tr>\n";
    for (size_t r = 0; r < rows_.size(); ++r) {
      out += "<tr>";
      for (size_t c = 0; c < rows_[r].size(); ++c) out += fmt::format("<td{}{}>{}</td>", kind(headings_[c]), style(r, c), escaped(rows_[r][c]));
      out += "</tr>\n";
    }
    return out + "</table></div>\n";
  }

 private:
  static const char* kind(const std::string& heading) { return heading.starts_with(" ") ? " class='t'" : ""; }
  std::string style(size_t row, size_t column) const {
    const auto part = shades_.find({row, column});
    return part == shades_.end() ? "" : fmt::format(" style='background:rgba(220,90,30,{:.2f})'", 0.1 + 0.8 * part->second);
  }
  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
  std::map<std::pair<size_t, size_t>, double> shades_;
};

std::string section(const std::string& title, const std::string& remark, const std::string& body) {
  if (body.empty()) return "";
  return fmt::format("<h2>{} <small>{}</small></h2>\n{}", escaped(title), escaped(remark), body);
}

std::string command_of(const Json& results) {
  std::string line;
  for (const Json& word : results.at("command")) line += (line.empty() ? "" : " ") + text(word);
  return line;
}

std::string head(const Json& r) {
  const std::string command = command_of(r);
  std::string out = fmt::format("<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>simrun: {0}</title><style>{1}</style></head><body>\n<h1>{0}</h1>\n",
                                escaped(command), kStyle);
  std::string line = fmt::format("simrun {}, {}", text(r.at("simrun_version")), text(r.at("started")));
  if (r.at("exit_status").is_number()) line += fmt::format(", exit status {}", r.at("exit_status").get<int>());
  if (r.at("order").is_string()) line += fmt::format(", {} order", text(r.at("order")));
  if (const Json& region = r.at("region"); region.is_object() && region.at("first_instruction").is_number())
    line += fmt::format(", instructions {} to {} of the run", count(region.at("first_instruction")), count(region.at("last_instruction")));
  out += fmt::format("<p>{}</p>\n", escaped(line));
  if (!r.at("complete").get<bool>()) out += fmt::format("<p class='w'>NOT COMPLETE: {}</p>\n", escaped(text(r.at("error"))));
  for (const Json& warning : r.at("warnings")) out += fmt::format("<p class='w'>{}</p>\n", escaped(text(warning)));
  return out;
}

std::string totals(const Json& r) {
  Table table({"threads", "instructions", "loads", "stores", "system calls", "wall seconds", "million instructions a second"});
  const Json& t = r.at("totals");
  const std::string mode = text(r.at("mode"));
  const bool has_references = (mode == "sim" || mode == "trace") && r.at("counted").get<bool>();
  const auto references = [&](const char* key) { return has_references ? count(t.at(key)) : "-"; };
  table.add({fmt::format("{}", r.at("threads").size()), r.at("counted").get<bool>() ? count(t.at("instructions")) : "-", references("loads"), references("stores"), count(t.at("syscalls")),
             real(r.at("speed").at("wall_seconds")), real(r.at("speed").at("mips"))});
  return section("Totals", "", table.html());
}

std::string levels(const Json& model) {
  Table table({" level", "accesses", "misses", "miss rate", "MPKI", "written back", "upgrades", "invalidations", "interventions", "of modified lines", "back-invalidations"});
  for (const Json& level : model.at("levels")) {
    const Json& e = level.at("events");
    table.add({text(level.at("name")), count(level.at("accesses")), count(level.at("misses")), fmt::format("{:.3f}%", 100 * number(level.at("miss_rate"))),
               real(level.at("mpki")), count(e.at("write_backs_out")), count(e.at("upgrades")), count(e.at("invalidations_received")),
               count(e.at("interventions")), count(e.at("dirty_interventions")), count(e.at("back_invalidations"))});
  }
  std::string memory;
  if (const Json& m = model.at("memory"); m.is_object() && !model.at("levels").empty())
    memory = fmt::format("<p>memory: {} lines read, {} written back</p>\n", count(m.at("reads")), count(m.at("writes")));
  return section("Caches", "demand accesses and misses of all cores; MPKI: misses for 1000 instructions", table.html() + memory);
}

struct StackPart {
  std::string name;
  double cycles = 0;
};

// What `cycles` of a core, thread or process are the sum of.
std::vector<StackPart> stack_of(const Json& counts) {
  std::vector<StackPart> parts = {{"base", number(counts.at("base_cycles"))}};
  for (const Json& level : counts.at("served_by")) parts.push_back({text(level.at("name")), number(level.at("stall_cycles"))});
  for (const auto& [name, key] : {std::pair{"transfers", "transfer_cycles"}, {"upgrades", "upgrade_cycles"}, {"TLB", "tlb_cycles"}})
    parts.push_back({name, number(counts.at(key))});
  return parts;
}

std::string colour_of_part(size_t part) { return part == 0 ? "#b8c4d0" : colour_of(static_cast<uint32_t>(part)); }

// A bar for each core that ran something, as long as its cycles for an instruction. Without what no core has.
std::string cycle_stacks(const Json& r) {
  std::vector<std::pair<const Json*, std::vector<StackPart>>> cores;
  std::vector<double> sums;
  double most = 0;
  for (const Json& core : r.at("cores")) {
    if (number(core.at("instructions")) == 0) continue;
    cores.emplace_back(&core, stack_of(core));
    sums.resize(cores.back().second.size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += cores.back().second[i].cycles;
    most = std::max(most, number(core.at("cpi")));
  }
  if (cores.empty() || most == 0) return "";
  constexpr double kBar = 22, kLabel = 150;
  std::vector<std::string> headings = {" core", "instructions", "CPI"};
  std::string bars, legend;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] == 0) continue;
    const std::string& name = cores[0].second[i].name;
    headings.push_back(name);
    legend += fmt::format("<span class='k' style='background:{}'></span>{}", colour_of_part(i), escaped(name));
  }
  Table table(headings);
  double y = 0;
  for (const auto& [core, stack] : cores) {
    const std::string name = fmt::format("core {}", core->at("core").get<int>());
    const double instructions = number(core->at("instructions"));
    bars += fmt::format("<text x='0' y='{}'>{}: {}</text>", y + kBar - 8, name, real(core->at("cpi")));
    std::vector<std::string> row = {name, count(core->at("instructions")), real(core->at("cpi"))};
    double x = kLabel;
    for (size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] == 0) continue;
      const double of_one = stack[i].cycles / instructions, width = (kPlotWidth - kLabel) * of_one / most;
      bars += fmt::format("<rect x='{:.2f}' y='{}' width='{:.2f}' height='{}' fill='{}'><title>{}: {:.4f}</title></rect>", x, y, width, kBar - 4, colour_of_part(i),
                          escaped(stack[i].name), of_one);
      x += width;
      row.push_back(fmt::format("{:.4f}", of_one));
    }
    bars += "\n";
    y += kBar;
    table.add(std::move(row));
  }
  return section("Where cycles go", "estimated cycles for an instruction of each core (docs/cache-model.md, \"Cycles\")",
                 fmt::format("<p>{}</p>\n<svg viewBox='0 0 {} {}' font-size='14'>{}</svg>\n{}", legend, kPlotWidth, y, bars, table.html()));
}

std::string threads(const Json& r) {
  const Json& all = r.at("threads");
  if (all.size() < 2) return "";
  std::vector<std::string> headings = {" thread", "process", "instructions", "loads", "stores"};
  const bool have_model = all[0].contains("model");
  if (have_model) headings.insert(headings.end(), {"core", "migrations", "CPI"});
  Table table(headings);
  for (const Json& thread : all) {
    std::vector<std::string> row = {fmt::format("{} (tid {})", thread.at("index").dump(), thread.at("tid").dump()), thread.at("process").dump(),
                                    count(thread.at("instructions")), count(thread.at("loads")), count(thread.at("stores"))};
    if (have_model) row.insert(row.end(), {thread.at("core").dump(), count(thread.at("migrations")), thread.contains("model") ? real(thread.at("model").at("cpi")) : "-"});
    table.add(std::move(row));
  }
  return section("Threads", "", table.html());
}

// From which core's caches lines came, for which core.
std::string transfers(const Json& r) {
  const Json& all = r.at("transfers");
  if (all.empty()) return "";
  double most = 0;
  std::vector<int> cores;
  for (const Json& t : all) {
    most = std::max(most, number(t.at("lines")));
    for (const char* key : {"from_core", "to_core"}) cores.push_back(t.at(key).get<int>());
  }
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  std::vector<std::string> headings = {" to"};
  for (const int core : cores) headings.push_back(fmt::format("from core {}", core));
  Table table(headings);
  for (const int to : cores) {
    std::vector<std::string> row = {fmt::format("core {}", to)};
    std::vector<double> parts;
    for (const int from : cores) {
      const auto t = std::find_if(all.begin(), all.end(), [&](const Json& one) { return one.at("from_core") == from && one.at("to_core") == to; });
      row.push_back(t == all.end() ? "" : count(t->at("lines")));
      parts.push_back(t == all.end() ? 0 : number(t->at("lines")) / most);
    }
    table.add(std::move(row));
    for (size_t i = 0; i < parts.size(); ++i) table.shade(i + 1, parts[i]);
  }
  return section("Lines that caches handed to each other", "", table.html());
}

std::string over_time(const Json& r) {
  const Json& intervals = r.at("intervals");
  if (intervals.size() < 2) return "";
  std::string out;
  const auto plot = [&](const std::string& name, const auto& value) {
    std::vector<double> values;
    for (const Json& interval : intervals) values.push_back(value(interval));
    if (std::any_of(values.begin(), values.end(), [](double v) { return v != 0; }))
      out += fmt::format("<p>{} <small>up to {:.4g}</small></p><svg viewBox='0 -2 {} {}'>{}</svg>\n", escaped(name), most_of(values), kPlotWidth, kPlotHeight + 4, curve(values));
  };
  plot("CPI", [](const Json& i) { return number(i.at("cpi")); });
  for (const auto& [name, unused] : intervals[0].at("levels").items()) plot(name + " MPKI", [&](const Json& i) { return number(i.at("levels").at(name).at("mpki")); });
  return section("Over time", fmt::format("{} intervals of about {} instructions", intervals.size(), count(intervals[0].at("instructions"))), out);
}

std::string miss_classes(const Json& r) {
  if (r.at("levels").empty() || !r.at("levels")[0].at("miss_classes").is_object()) return "";
  std::vector<std::string> headings = {" level"};
  for (const auto& [name, unused] : r.at("levels")[0].at("miss_classes").items()) {
    headings.push_back(name);
    std::replace(headings.back().begin(), headings.back().end(), '_', ' ');
  }
  Table table(headings);
  for (const Json& level : r.at("levels")) {
    std::vector<std::string> row = {text(level.at("name"))};
    for (const auto& [name, misses] : level.at("miss_classes").items()) row.push_back(count(misses));
    table.add(std::move(row));
    size_t column = 1;
    for (const auto& [name, misses] : level.at("miss_classes").items())
      table.shade(column++, number(level.at("misses")) == 0 ? 0 : number(misses) / number(level.at("misses")));
  }
  return section("Misses by class", "", table.html());
}

// One of the tables of what costs most. `names`: the cells that say what it is.
template <class Names>
std::string hot_table(const Json& rows, double all_stalls, const std::string& title, std::vector<std::string> name_headings, Names names) {
  if (rows.empty()) return "";
  std::vector<std::string> headings = {"stall cycles", "of all"};
  for (const auto& [level, unused] : rows[0].at("misses_by_level").items()) headings.push_back(level + " misses");
  headings.push_back("sharing misses");
  headings.insert(headings.end(), name_headings.begin(), name_headings.end());
  Table table(headings);
  for (const Json& row : rows) {
    const double stalls = number(row.at("stall_cycles"));
    std::vector<std::string> cells = {grouped(static_cast<uint64_t>(stalls)), all_stalls == 0 ? "-" : fmt::format("{:.1f}%", 100 * stalls / all_stalls)};
    for (const auto& [level, misses] : row.at("misses_by_level").items()) cells.push_back(count(misses));
    cells.push_back(row.contains("coherence_misses") ? count(row.at("coherence_misses"))
                                                     : grouped(row.at("true_sharing").get<uint64_t>() + row.at("false_sharing").get<uint64_t>()));
    for (std::string& cell : names(row)) cells.push_back(std::move(cell));
    table.add(std::move(cells));
    table.shade(1, all_stalls == 0 ? 0 : stalls / all_stalls);
  }
  return section(title, "", table.html());
}

std::string file_name(const Json& path) { return std::filesystem::path(text(path)).filename().string(); }

std::string hot_spots(const Json& r) {
  double stalls = 0;
  for (const Json& core : r.at("cores"))
    for (const StackPart& part : stack_of(core))
      if (part.name != "base" && part.name != "TLB") stalls += part.cycles;
  using Cells = std::vector<std::string>;
  return hot_table(r.at("hot_functions"), stalls, "Functions", {" function", " module"}, [](const Json& f) { return Cells{text(f.at("function")), file_name(f.at("module"))}; }) +
         hot_table(r.at("hot_instructions"), stalls, "Instructions", {" address", " function", " source"},
                   [](const Json& i) { return Cells{fmt::format("{:#x}", i.at("pc").get<uint64_t>()), text(i.at("function")), text(i.at("source"))}; }) +
         hot_table(r.at("hot_objects"), stalls, "Objects", {"bytes", " object"}, [](const Json& o) { return Cells{count(o.at("bytes")), text(o.at("object"))}; }) +
         hot_table(r.at("hot_lines"), stalls, "Lines", {"threads", " address", " object"}, [](const Json& l) {
           return Cells{count(l.at("sharing_threads")), fmt::format("{:#x}", l.at("address").get<uint64_t>()),
                        text(l.at("object")).empty() ? "" : fmt::format("{} +{}", text(l.at("object")), l.at("offset").dump())};
         });
}

// The machines of a sweep, as rows.
std::string sweep(const Json& r) {
  const Json& all = r.at("sweep");
  if (all.empty()) return "";
  std::vector<std::string> headings = {" machine"};
  for (const Json& level : all[0].at("levels")) headings.push_back(text(level.at("name")) + " MPKI");
  headings.insert(headings.end(), {"lines read", "lines written"});
  Table table(headings);
  for (const Json& point : all) {
    std::string settings;
    for (const auto& [key, value] : point.at("settings").items()) settings += fmt::format("{}{}={}", settings.empty() ? "" : " ", key, value.is_string() ? text(value) : value.dump());
    std::vector<std::string> row = {settings};
    for (const Json& level : point.at("levels")) row.push_back(real(level.at("mpki")));
    row.insert(row.end(), {count(point.at("memory").at("reads")), count(point.at("memory").at("writes"))});
    table.add(std::move(row));
  }
  return section("Machines", "misses for 1000 instructions", table.html());
}

std::string miss_curve(const Json& r) {
  const Json& c = r.at("miss_curve");
  if (!c.is_object() || c.at("points").empty()) return "";
  Table table({"bytes", "misses", "miss rate"});
  std::vector<double> rates;
  for (const Json& point : c.at("points")) {
    rates.push_back(100 * number(point.at("miss_rate")));
    table.add({count(point.at("bytes")), count(point.at("misses")), fmt::format("{:.3f}%", rates.back())});
  }
  return section(fmt::format("{} of any size", text(c.at("level"))), fmt::format("miss rate, up to {:.4g}%; four sizes for each doubling, from {} bytes", most_of(rates), count(c.at("points")[0].at("bytes"))),
                 fmt::format("<svg viewBox='0 -2 {} {}'>{}</svg>\n{}", kPlotWidth, kPlotHeight + 4, curve(rates), table.html()));
}

std::string machine(const Json& r) {
  const Json* configuration = &r.at("configuration");
  if (!configuration->is_object()) return "";
  const sim::MachineConfig config = configs::parse_machine(configuration->dump(), "the machine");
  return section("Machine " + config.name, config.description, "<pre>" + escaped(configs::picture_of(config)) + "</pre>\n");
}

}  // namespace

std::string html_report(const Json& r) {
  return head(r) + totals(r) + levels(r) + cycle_stacks(r) + sweep(r) + miss_curve(r) + over_time(r) + threads(r) + transfers(r) + miss_classes(r) + hot_spots(r) + machine(r) +
         "</body></html>\n";
}

}  // namespace simrun::cli
