#include "cli/batch/slurm_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

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

std::string slurm_script(const Plan& plan, const std::vector<size_t>& numbers, const std::vector<std::string>& call) {
  std::string words;
  for (const std::string& word : call) words += quoted(word) + " ";
  std::string text = fmt::format(
      "#!/bin/sh\n"
      "# {} of the {} jobs of suite {}, one for each task of an array. Submit: sbatch THIS_FILE. What is missing afterwards: the same\n"
      "# simrun batch --slurm again; the table: with --table instead.\n"
      "#SBATCH --job-name=simrun-{}\n"
      "#SBATCH --array={}\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --cpus-per-task=2\n"
      "#SBATCH --output={}\n",
      numbers.size(), plan.jobs.size(), plan.suite.name, plan.suite.name, ranges_text(numbers), quoted(plan.folder + "/slurm-%a.log"));
  if (const uint64_t minutes = minutes_of(plan); minutes != 0) text += fmt::format("#SBATCH --time={}\n", minutes);
  std::string options;
  for (const std::string& option : plan.options) options += " " + quoted(option);
  // exec: signals of the cluster are for simrun.
  return text + fmt::format("exec {}--job \"$SLURM_ARRAY_TASK_ID\"{}{}\n", words, options.empty() ? "" : " --", options);
}

}  // namespace simrun::cli
