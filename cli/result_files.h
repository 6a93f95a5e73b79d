// The files that a run's results go to.
#pragma once

#include <optional>
#include <vector>

#include "cli/output_file.h"
#include "cli/result_file_names.h"
#include "cli/run_result.h"

namespace simrun::cli {

// Made before the run, so that a path that cannot be written is found early. Throws UserError.
class ResultFiles {
 public:
  // `others`: which none of them may replace.
  ResultFiles(const ResultFileNames& names, std::vector<NamedFile> others);
  void commit(const RunResult& result);

 private:
  std::optional<OutputFile> json_, hdf5_, csv_, html_;
};

}  // namespace simrun::cli
