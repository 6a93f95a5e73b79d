// Runs the jobs of a batch, several at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/batch/plan.h"

namespace simrun::cli {

struct RunJobsOptions {
  uint32_t at_a_time = 1;
  bool quiet = false;    // failures only
  bool restart = false;  // also what is done
};

struct JobsOutcome {
  size_t done = 0, failed = 0;  // now and before, by whatever call
  int signal = 0;               // that interrupted it; else 0
};

// Those of `jobs` that are not done; waits for those that other calls run. What becomes of each is said on standard error. On SIGINT, SIGTERM or SIGHUP
// it ends what runs.
JobsOutcome run_jobs(const Plan& plan, const std::vector<const Job*>& jobs, const RunJobsOptions& options);

}  // namespace simrun::cli
