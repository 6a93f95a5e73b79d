// A batch as an array job of Slurm: a script for sbatch.
#pragma once

#include <string>
#include <vector>

#include "cli/batch/plan.h"

namespace simrun::cli {

// Of `jobs`, ascending, at least one. `call`: the words of a `simrun batch` that makes the plan, but for the plan's options. Throws UserError when the
// folder's name cannot be in a script.
std::string slurm_script(const Plan& plan, const std::vector<const Job*>& jobs, const std::vector<std::string>& call);

// "1-4,7,9-12".
std::string ranges_text(const std::vector<size_t>& numbers);

// A word as a shell takes it.
std::string quoted(const std::string& word);

}  // namespace simrun::cli
