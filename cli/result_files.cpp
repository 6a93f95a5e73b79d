#include "cli/result_files.h"

#include <exception>

#include "base/hdf5_module.h"
#include "base/user_error.h"
#include "cli/command_line.h"
#include "cli/csv_report.h"
#include "cli/html_report.h"
#include "cli/json_report.h"

namespace simrun::cli {

namespace {

constexpr char kHdf5Report[] = "simrun_hdf5_report";

}  // namespace

void add_result_file_options(CLI::App& app, ResultFileNames& names) {
  app.add_option("-j,--json", names.json, "Write the results as JSON (docs/results.md); -: to standard output")->type_name("FILE");
  app.add_option("--hdf5", names.hdf5, "Write the results as HDF5 (docs/results-hdf5.md)")->type_name("FILE");
  app.add_option("--csv", names.csv, "Write the results as CSV, a row for each number")->type_name("FILE");
  app.add_option("--html", names.html, "Write the results as a page to look at, with nothing outside the file")->type_name("FILE");
}

ResultFiles::ResultFiles(const ResultFileNames& names, std::vector<NamedFile> others) {
  others.insert(others.end(), {{"--json", names.json}, {"--hdf5", names.hdf5}, {"--csv", names.csv}, {"--html", names.html}});
  refuse_same_file(others);
  if (!names.json.empty()) json_.emplace(names.json);
  if (!names.hdf5.empty()) {
    find_hdf5_function(kHdf5Report);
    hdf5_.emplace(names.hdf5);
  }
  if (!names.csv.empty()) csv_.emplace(names.csv);
  if (!names.html.empty()) html_.emplace(names.html);
}

void ResultFiles::commit(const RunResult& result) {
  if (!json_ && !hdf5_ && !csv_ && !html_) return;
  const nlohmann::ordered_json report = json_report(result);
  // What cannot be written in one form may be in another.
  std::exception_ptr first;
  const auto attempt = [&](const auto& write) {
    try {
      write();
    } catch (const std::exception&) {
      if (!first) first = std::current_exception();
    }
  };
  if (json_) attempt([&] { json_->commit(report.dump(2) + "\n"); });
  if (hdf5_) attempt([&] { hdf5_->commit(hdf5_function<std::string(const nlohmann::ordered_json&)>(kHdf5Report)(report)); });
  if (csv_) attempt([&] { csv_->commit(csv_report(report)); });
  if (html_) attempt([&] { html_->commit(html_report(report)); });
  if (first) std::rethrow_exception(first);
}

}  // namespace simrun::cli
