// The files that a run's results go to, as the command line asks for them.
#pragma once

#include <optional>
#include <string>

#include "cli/output_file.h"
#include "cli/run_result.h"

namespace CLI {
class App;
}

namespace simrun::cli {

// Empty: not asked for.
struct ResultFileNames {
  std::string json, hdf5, csv;
  std::string input = {}, machine = {}, memory_trace = {};  // which none of them may replace
};
void add_result_file_options(CLI::App& app, std::string& json, std::string& hdf5, std::string& csv);

// Made before the run, so that a path that cannot be written is found early. Throws UserError.
class ResultFiles {
 public:
  explicit ResultFiles(const ResultFileNames& names);
  void commit(const RunResult& result);

 private:
  std::optional<OutputFile> json_, hdf5_, csv_;
};

}  // namespace simrun::cli
