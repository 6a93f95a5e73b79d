#include "cli/batch/batch_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <fstream>

#include "base/user_error.h"
#include "cli/batch/job_folder.h"
#include "cli/report.h"
#include "cli/report_text.h"

namespace simrun::cli {

namespace {

using Json = nlohmann::ordered_json;  // figures of pinpoints are in the order of its report

Json read_json(const std::string& path) {
  std::ifstream file(path);
  Json document = Json::parse(file, nullptr, false);
  if (!document.is_object()) throw UserError(fmt::format("{}: cannot be read", path));
  return document;
}

BatchFigure count(const char* column, const Json& value, const char* heading = "") {
  return {column, value.dump(), heading, grouped(value.get<uint64_t>()), std::nullopt};
}

BatchFigure rate(const std::string& column, double value, const std::string& heading) {
  return {column, fmt::format("{}", value), heading, fmt::format("{:.3f}", value), value};
}

BatchFigure percent(const std::string& column, double part, const std::string& heading) {
  return {column, fmt::format("{}", part), heading, fmt::format("{:.2f}%", 100 * part), std::nullopt};
}

BatchFigure only_in_csv(const std::string& column, std::string value) { return {column, std::move(value), "", "", std::nullopt}; }

// `model`: where the levels are: of the results, or of a machine of a sweep.
std::vector<BatchFigure> figures_of_run(const Json& results, const Json& model) {
  const Json& totals = results.at("totals");
  std::vector<BatchFigure> figures = {count("instructions", totals.at("instructions"), "instructions")};
  if (const std::string mode = results.at("mode"); (mode == "sim" || mode == "trace") && results.at("counted").get<bool>())
    for (const char* key : {"loads", "stores"}) figures.push_back(count(key, totals.at(key)));
  for (const Json& level : model.at("levels")) {
    const std::string name = level.at("name");
    for (const char* key : {"accesses", "misses"}) figures.push_back(only_in_csv(name + "_" + key, level.at(key).dump()));
    figures.push_back(rate(name + "_mpki", level.at("mpki"), name));
  }
  if (const Json& memory = model.at("memory"); memory.is_object()) {
    figures.push_back(count("memory_reads", memory.at("reads"), "lines read"));
    figures.push_back(count("memory_writes", memory.at("writes")));
    double cycles = 0;
    for (const Json& core : model.at("cores")) cycles += core.at("cycles").get<double>();
    const double instructions = totals.at("instructions");
    figures.push_back(only_in_csv("cycles", fmt::format("{}", cycles)));
    figures.push_back(rate("cpi", instructions == 0 ? 0 : cycles / instructions, "CPI"));
  }
  return figures;
}

// "L1D MPKI" is L1D in a table, L1D_mpki in a CSV; "CPI estimate" CPI and cpi; "memory reads", lines for 1000 instructions, reads/1000 and
// memory_reads_per_1000; "loads", for 100, loads/100 and loads_per_100.
struct FigureName {
  std::string heading, column;
};
FigureName name_of(const std::string& figure, const std::string& unit) {
  if (figure.starts_with("CPI")) return {"CPI", "cpi"};
  if (const size_t at = figure.find(" MPKI"); at != std::string::npos) return {figure.substr(0, at), figure.substr(0, at) + "_mpki"};
  const std::string number = unit.find("1000") != std::string::npos ? "1000" : "100";
  std::string column = figure + "_per_" + number;
  std::replace(column.begin(), column.end(), ' ', '_');
  return {figure.substr(figure.rfind(' ') + 1) + "/" + number, column};
}

std::vector<BatchFigure> figures_of_pinpoints(const Json& report) {
  std::vector<BatchFigure> figures = {count("instructions", report.at("instructions"), "instructions"), count("intervals", report.at("intervals")),
                                      only_in_csv("regions", fmt::format("{}", report.at("regions").size())),
                                      only_in_csv("measured", report.at("measured").dump()), percent("simulated", report.at("simulated"), "simulated")};
  double worst = -1;
  for (const auto& [name, figure] : report.at("figures").items()) {
    const auto [heading, column] = name_of(name, figure.at("unit"));
    figures.push_back(rate(column, figure.at("predicted"), heading));
    const Json& confidence = figure.at("confidence_95");
    figures.push_back(only_in_csv(column + "_confidence_95", confidence.is_null() ? "" : confidence.dump()));
    if (!figure.contains("error")) continue;
    figures.push_back(only_in_csv(column + "_whole", figure.at("whole").dump()));
    figures.push_back(only_in_csv(column + "_error", figure.at("error").dump()));
    worst = std::max(worst, figure.at("error").get<double>());
  }
  if (worst >= 0) figures.push_back(percent("worst_error", worst, "worst error"));
  return figures;
}

std::string text_of_settings(const Json& settings) {
  std::string text;
  for (const auto& [key, value] : settings.items()) text += fmt::format(" {}={}", key, value.is_string() ? value.get<std::string>() : value.dump());
  return text;
}

void add_rows(std::vector<BatchRow>& to, const Job& job, const Plan& plan, const Json& record, const Json& results) {
  const auto add = [&](const std::string& settings, std::vector<BatchFigure> figures) {
    figures.insert(figures.begin(), {only_in_csv("exit_status", record.at("exit_status").dump()), only_in_csv("seconds", record.at("seconds").dump())});
    to.push_back({job.program->name, job.machine + settings, std::move(figures)});
  };
  if (!plan.task->result_is_report) return add("", figures_of_pinpoints(results));
  const Json& sweep = results.at("sweep");
  if (sweep.empty()) return add("", figures_of_run(results, results));
  for (const Json& point : sweep) add(text_of_settings(point.at("settings")), figures_of_run(results, point));
}

// Each value once, in order of appearance.
void add_once(std::vector<std::string>& to, const std::string& text) {
  if (!text.empty() && std::find(to.begin(), to.end(), text) == to.end()) to.push_back(text);
}

const BatchFigure* find_figure(const BatchRow& row, std::string BatchFigure::*by, const std::string& name) {
  const auto found = std::find_if(row.figures.begin(), row.figures.end(), [&](const BatchFigure& figure) { return figure.*by == name; });
  return found == row.figures.end() ? nullptr : &*found;
}

void put_machine(Buffer& out, const std::string& machine, const std::vector<const BatchRow*>& rows) {
  size_t width = std::max<size_t>(machine.size(), 12);
  std::vector<std::string> headings;
  for (const BatchRow* row : rows) {
    width = std::max(width, row->program.size());
    for (const BatchFigure& figure : row->figures) add_once(headings, figure.heading);
  }
  std::string titles, mean;
  std::vector<std::string> lines(rows.size());
  for (const std::string& heading : headings) {
    size_t column = std::max<size_t>(heading.size(), 7) + 3;
    double sum = 0;
    size_t numbers = 0;
    for (const BatchRow* row : rows) {
      const BatchFigure* figure = find_figure(*row, &BatchFigure::heading, heading);
      if (figure == nullptr) continue;
      column = std::max(column, figure->shown.size() + 3);
      if (figure->averaged) sum += *figure->averaged, ++numbers;
    }
    titles += fmt::format("{:>{}}", heading, column);
    for (size_t i = 0; i < rows.size(); ++i) {
      const BatchFigure* figure = find_figure(*rows[i], &BatchFigure::heading, heading);
      lines[i] += fmt::format("{:>{}}", figure == nullptr ? "-" : figure->shown, column);
    }
    // Of some of the programs a mean would be another thing.
    mean += fmt::format("{:>{}}", numbers == rows.size() ? fmt::format("{:.3f}", sum / static_cast<double>(numbers)) : "", column);
  }
  put(out, "\n   {:<{}}{}\n", machine.empty() ? "program" : machine, width, titles);
  for (size_t i = 0; i < rows.size(); ++i) put(out, "   {:<{}}{}\n", rows[i]->program, width, lines[i]);
  if (rows.size() > 1 && mean.find_first_not_of(' ') != std::string::npos) put(out, "   {:<{}}{}\n", fmt::format("mean of {}", rows.size()), width, mean.substr(0, mean.find_last_not_of(' ') + 1));
}

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

BatchRows read_rows(const Plan& plan, const std::vector<const Job*>& jobs) {
  BatchRows found;
  for (const Job* job : jobs) {
    const JobFolder folder(plan, *job);
    if (folder.state().is != JobState::Is::kDone) continue;
    const std::string path = folder.done_path(plan.task->figures);
    try {
      add_rows(found.rows, *job, plan, read_json(folder.done_path("job.json")), read_json(path));
    } catch (const std::exception& error) {
      found.damaged.push_back(fmt::format("{}: these are no results of this simrun ({}); for new ones: --only {} --restart", path, error.what(), job->label()));
    }
  }
  return found;
}

std::string batch_table(const std::vector<BatchRow>& rows) {
  Buffer out;
  std::vector<std::string> machines;
  for (const BatchRow& row : rows)
    if (std::find(machines.begin(), machines.end(), row.machine) == machines.end()) machines.push_back(row.machine);
  for (const std::string& machine : machines) {
    std::vector<const BatchRow*> of_machine;
    for (const BatchRow& row : rows)
      if (row.machine == machine) of_machine.push_back(&row);
    put_machine(out, machine, of_machine);
  }
  return fmt::to_string(out);
}

std::string batch_csv(const std::vector<BatchRow>& rows) {
  std::vector<std::string> columns;
  for (const BatchRow& row : rows)
    for (const BatchFigure& figure : row.figures) add_once(columns, figure.column);
  std::string text = "program,machine";
  for (const std::string& column : columns) text += "," + csv_text(column);
  text += "\n";
  for (const BatchRow& row : rows) {
    text += csv_text(row.program) + "," + csv_text(row.machine);
    for (const std::string& column : columns) {
      const BatchFigure* figure = find_figure(row, &BatchFigure::column, column);
      text += "," + (figure == nullptr ? "" : csv_text(figure->value));
    }
    text += "\n";
  }
  return text;
}

}  // namespace simrun::cli
