#include "cli/batch/slurm_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "base/user_error.h"

namespace simrun::cli {

namespace {

// The longest time that a program of the plan may take, with some for the end; 0: one has no limit.
uint64_t minutes_of(const Plan& plan) {
  double longest = 0;
  for (const configs::SuiteProgram& program : plan.suite.programs) {
    if (program.time_limit == 0) return 0;
    longest = std::max(longest, program.time_limit);
  }
  return static_cast<uint64_t>(std::ceil(longest / 60)) + 1;
}

}  // namespace

std::string ranges_text(const std::vector<size_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last != i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string quoted(const std::string& word) {
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("_-+=.,/:%@").find(c) != std::string_view::npos; };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string slurm_script(const Plan& plan, const std::vector<const Job*>& jobs, const std::vector<std::string>& call) {
  // A line of a script is an option of sbatch, in which %a is a task's number.
  std::string log;
  for (const char c : plan.folder + "/slurm-") {
    if (c == '\n') throw UserError(fmt::format("{}: a script cannot name it: there is an end of a line in it", plan.folder));
    log += c == '%' ? std::string("%%") : std::string(1, c);
  }
  std::vector<size_t> numbers;
  std::string labels, words, options;
  for (const Job* job : jobs) {
    numbers.push_back(job->number);
    labels += fmt::format("{}) job={} ;;\n", job->number, job->label());
  }
  for (const std::string& word : call) words += quoted(word) + " ";
  for (const std::string& option : plan.options) options += " " + quoted(option);
  std::string text = fmt::format(
      "#!/bin/sh\n"
      "# {} of the {} jobs of suite {}, one for each task of an array. Submit: sbatch THIS_FILE. What is missing afterwards: the same\n"
      "# simrun batch --slurm again; the table: with --table instead.\n"
      "#SBATCH --job-name=simrun-{}\n"
      "#SBATCH --array={}\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --cpus-per-task=2\n"
      "#SBATCH --output={}\n",
      jobs.size(), plan.jobs.size(), plan.suite.name, plan.suite.name, ranges_text(numbers), quoted(log + "%a.log"));
  if (const uint64_t minutes = minutes_of(plan); minutes != 0) text += fmt::format("#SBATCH --time={}\n", minutes);
  // Names: a suite that is changed until then has other numbers. exec: signals of the cluster are for simrun.
  return text + fmt::format("case $SLURM_ARRAY_TASK_ID in\n{}*) echo \"simrun: job $SLURM_ARRAY_TASK_ID is not one of this script\" >&2; exit 2 ;;\nesac\nexec {}--job \"$job\"{}{}\n", labels, words, options.empty() ? "" : " --", options);
}

}  // namespace simrun::cli
