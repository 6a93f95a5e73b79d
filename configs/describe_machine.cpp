#include "configs/describe_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "configs/read_machine.h"
#include "sim/build/validate_machine.h"

namespace simrun::configs {

namespace {

constexpr uint32_t kMostColumns = 8;
constexpr size_t kColumn = 11, kGap = 5;  // characters

// The cores that get a column: all, or the first and last ones of the first and last cache of the outermost level that
// is not the whole chip's.
std::vector<uint32_t> cores_to_show(const sim::MachineConfig& machine) {
  std::vector<uint32_t> shown;
  if (machine.cores <= kMostColumns) {
    for (uint32_t core = 0; core < machine.cores; ++core) shown.push_back(core);
    return shown;
  }
  uint32_t cluster = machine.cores;
  for (const sim::LevelConfig& level : machine.levels)
    if (level.cores_per_cache < machine.cores) cluster = level.cores_per_cache;
  std::set<uint32_t> cores = {0, 1, machine.cores - 1};
  for (const uint32_t core : {cluster - 1, cluster, machine.cores - cluster})
    if (core < machine.cores) cores.insert(core);
  return {cores.begin(), cores.end()};
}

struct Columns {
  std::vector<uint32_t> cores;
  std::vector<size_t> start;  // of each column
  size_t width = 0;

  explicit Columns(const sim::MachineConfig& machine) : cores(cores_to_show(machine)) {
    for (size_t i = 0; i < cores.size(); ++i) {
      if (i != 0) width += cores[i] == cores[i - 1] + 1 ? 1 : kGap;
      start.push_back(width);
      width += kColumn;
    }
  }
};

std::string centred(const std::string& text, size_t width) {
  if (text.size() >= width) return text.substr(0, width);
  const size_t left = (width - text.size()) / 2;
  return std::string(left, ' ') + text + std::string(width - left - text.size(), ' ');
}

std::string without_spaces_at_end(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// Boxes side by side: `last[i]` is the last column of the box that starts at column first[i].
std::string row_of_boxes(const Columns& columns, const std::vector<std::pair<size_t, size_t>>& boxes,
                         const std::vector<std::string>& text) {
  std::string result;
  for (size_t line = 0; line < text.size() + 2; ++line) {
    const bool border = line == 0 || line == text.size() + 1;
    std::string row(columns.width, ' ');
    for (size_t i = 0; i < boxes.size(); ++i) {
      const size_t from = columns.start[boxes[i].first], to = columns.start[boxes[i].second] + kColumn;
      const std::string inside = border ? std::string(to - from - 2, '-') : centred(text[line - 1], to - from - 2);
      row.replace(from, to - from, (border ? "+" : "|") + inside + (border ? "+" : "|"));
      const bool more = i + 1 < boxes.size() && columns.start[boxes[i + 1].first] - to > 1;
      if (more && line == (text.size() + 2) / 2) row.replace(to + 1, 3, "...");
    }
    result += "  " + without_spaces_at_end(row) + "\n";
  }
  return result;
}

std::vector<std::pair<size_t, size_t>> boxes_of(const Columns& columns, uint32_t cores_per_cache) {
  std::vector<std::pair<size_t, size_t>> boxes;
  for (size_t i = 0; i < columns.cores.size(); ++i) {
    const bool same =
        !boxes.empty() && columns.cores[boxes.back().first] / cores_per_cache == columns.cores[i] / cores_per_cache;
    if (same)
      boxes.back().second = i;
    else
      boxes.push_back({i, i});
  }
  return boxes;
}

// "32K", "1.5M": short enough for a box.
std::string short_size(uint64_t bytes) {
  const std::string text = sim::format_size(bytes);  // "32 KiB"
  const size_t space = text.find(' ');
  return text.substr(0, space) + (text[space + 1] == 'b' ? "B" : text.substr(space + 1, 1));
}

std::vector<std::string> text_of(const sim::LevelConfig& level) {
  if (!level.split) return {level.name, short_size(level.unified.size_bytes)};
  return {level.name + "I " + short_size(level.instruction.size_bytes),
          level.name + "D " + short_size(level.data.size_bytes)};
}

std::string table_row(const std::string& name, const sim::MachineConfig& machine, const sim::LevelConfig& level,
                      const sim::CacheShape& shape) {
  const uint64_t sets = shape.size_bytes / machine.line_bytes / shape.ways;
  return fmt::format("  {:<8}{:>9} x {:<10}{:>6}{:>9}{:>12}{:>9}\n", name, machine.cores / level.cores_per_cache,
                     sim::format_size(shape.size_bytes), shape.ways, sets, level.cores_per_cache, shape.latency);
}

std::string prefetchers_of(const nlohmann::json& shape) {
  std::string text;
  if (!shape.contains("prefetch")) return text;
  for (const nlohmann::json& p : shape["prefetch"])
    text += fmt::format("{}{}, degree {}, distance {}", text.empty() ? "          prefetch: " : "; ",
                        p["kind"].get<std::string>(), p["degree"].get<uint32_t>(), p["distance"].get<uint32_t>());
  return text + "\n";
}

std::string tlb_of(const nlohmann::json& tlb) {
  std::string text;
  for (const char* part : {"instruction", "data", "second"}) {
    if (!tlb.contains(part)) continue;
    const nlohmann::json& shape = tlb[part];
    text += fmt::format("          {}, {} entries, {} ways", part, shape["entries"].get<uint32_t>(),
                        shape["ways"].get<uint32_t>());
    if (shape.contains("latency")) text += fmt::format(", {} cycles", shape["latency"].get<uint32_t>());
    text += "\n";
  }
  return text + fmt::format("          walk_latency: {}\n", tlb["walk_latency"].get<uint32_t>());
}

// What is no cache.
std::string rest_of(const sim::MachineConfig& machine, const nlohmann::json& json) {
  std::string text = fmt::format("  {:<8}{:>57}\n", "memory", machine.memory_latency);
  text += fmt::format("          transfer_latency: {}\n", machine.transfer_latency);
  if (machine.tlb)
    text +=
        fmt::format("  TLB of each core, pages of {}\n", sim::format_size(machine.page_bytes)) + tlb_of(json["tlb"]);
  const sim::CoreConfig& core = machine.core;
  return text + fmt::format("  core    cpi: {:g}, fetch_exposed: {:g}, read_exposed: {:g}, write_exposed: {:g}\n",
                            core.cpi, core.fetch_exposed, core.read_exposed, core.write_exposed);
}

// The words of the choices, as in the file.
std::string choices_of(const nlohmann::json& object) {
  std::string text;
  for (const auto& [key, value] : object.items())
    if (value.is_string() && key != "name" && key != "description")
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, value.get<std::string>());
  return text;
}

}  // namespace

std::string picture_of(const sim::MachineConfig& machine) {
  const Columns columns(machine);
  const nlohmann::json json = to_json(machine);
  std::string text = fmt::format("{}: {} core{}, {}-byte lines; {}\n", machine.name, machine.cores,
                                 machine.cores == 1 ? "" : "s", machine.line_bytes, choices_of(json));
  if (!machine.description.empty()) text += machine.description + "\n";
  std::string heads(columns.width, ' ');
  for (size_t i = 0; i < columns.cores.size(); ++i)
    heads.replace(columns.start[i], kColumn, centred(fmt::format("core {}", columns.cores[i]), kColumn));
  text += "\n  " + without_spaces_at_end(heads) + "\n";
  for (const sim::LevelConfig& level : machine.levels)
    text += row_of_boxes(columns, boxes_of(columns, level.cores_per_cache), text_of(level));
  text += row_of_boxes(columns, {{0, columns.cores.size() - 1}}, {"memory"});
  text += fmt::format("\n  {:<8}{:>9}   {:<10}{:>6}{:>9}{:>12}{:>9}\n", "level", "caches", "size", "ways", "sets",
                      "cores each", "cycles");
  for (size_t i = 0; i < machine.levels.size(); ++i) {
    const sim::LevelConfig& level = machine.levels[i];
    if (level.split) {
      text += table_row(level.name + "I", machine, level, level.instruction);
      text += prefetchers_of(json["levels"][i]["instruction"]);
      text += table_row(level.name + "D", machine, level, level.data);
      text += prefetchers_of(json["levels"][i]["data"]);
    } else {
      text += table_row(level.name, machine, level, level.unified);
      text += prefetchers_of(json["levels"][i]);
    }
    text += fmt::format("          {}\n", choices_of(json["levels"][i]));
  }
  return text + rest_of(machine, json);
}

}  // namespace simrun::configs
