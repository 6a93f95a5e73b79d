// The files that results go to, as the command line asks for them.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace simrun::cli {

// Empty: not asked for.
struct ResultFileNames {
  std::string json, hdf5, csv, html;
  bool any() const { return !json.empty() || !hdf5.empty() || !csv.empty() || !html.empty(); }
};
void add_result_file_options(CLI::App& app, ResultFileNames& names);

}  // namespace simrun::cli
