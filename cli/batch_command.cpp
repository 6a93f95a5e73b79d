// `simrun batch`: the programs of a suite on each of several machines; the work is in batch/.
#include <fmt/format.h>
#include <fnmatch.h>
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/user_error.h"
#include "cli/batch/batch_table.h"
#include "cli/batch/job_folder.h"
#include "cli/batch/run_jobs.h"
#include "cli/batch/slurm_script.h"
#include "cli/command_line.h"
#include "cli/output_file.h"
#include "cli/print_error.h"
#include "cli/sub_commands.h"
#include "cli/terminal_signals.h"

namespace simrun::cli {

namespace {

namespace fs = std::filesystem;

struct BatchOptions {
  std::string suite, folder;
  std::vector<std::string> machines, only, options;
  size_t task = 0;  // of tasks()
  std::string job;
  bool list = false, table = false, slurm = false;
  RunJobsOptions run;
};

// Half the processors: simrun keeps one busy besides the program's.
uint32_t default_at_a_time() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int processors = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return static_cast<uint32_t>(std::max(1, processors / 2));
}

BatchOptions parse_batch(const Words& words) {
  CommandLine line(
      "simrun batch", "simrun batch SUITE -o DIR [-c MACHINE]... [OPTIONS] [-- OPTIONS OF EACH RUN]",
      "Runs each program of a suite on each machine, several at a time, and puts the results side by side\n"
      "(docs/batch.md). A repeated call runs what is not done, or was done otherwise. Calls on several hosts with one\n"
      "DIR share the work.");
  BatchOptions o;
  o.run.at_a_time = default_at_a_time();
  CLI::App& app = line.app();
  app.add_option("SUITE", o.suite, "The programs: a YAML file, or the name of one that comes with simrun (small)")->required()->type_name("SUITE");
  app.add_option("-o,--output", o.folder, "Folder of the results, DIR/PROGRAM/MACHINE/TASK; made if need be")->required()->type_name("DIR");
  app.add_option("-c,--config", o.machines, "A machine, as for simrun run; again for another (default: those of the suite)")
      ->allow_extra_args(false)
      ->type_name("MACHINE");
  Choices<size_t> names;
  for (const Task& task : tasks()) names.emplace_back(task.name, names.size());
  add_choice(app, "--task", o.task, "What to do with each program: a command of simrun", names)->default_str("run");
  app.add_option("-j,--jobs", o.run.at_a_time, "How many at a time (default: half the processors)")->transform(whole_number(1, 4096))->type_name("N");
  app.add_option("--only", o.only, "Only programs (or PROGRAM/MACHINE) whose names match, as 'gcc.*'; again for others")
      ->allow_extra_args(false)
      ->type_name("PATTERN");
  app.add_option("--job", o.job, "Only this one: its number, or PROGRAM/MACHINE, as --list shows them")->type_name("JOB");
  app.add_flag("--list", o.list, "Run nothing: list the jobs, and what became of them");
  app.add_flag("--table", o.table, "Run nothing: the table of what is done");
  app.add_flag("--slurm", o.slurm, "Run nothing: print a script for sbatch that runs what is not done, as an array");
  app.add_flag("--restart", o.run.restart, "Run what is done, too; its results stay until there are new ones");
  app.add_flag("-q,--quiet", o.run.quiet, "No progress and no table; what fails is said");
  app.footer(
      "A suite is a file such as (docs/batch.md has all keys):\n"
      "  machines: [l3_1core]\n"
      "  programs:\n"
      "  - {name: gzip, command: [gzip, -9, -c, input.tar], files: [data/input.tar]}\n"
      "Examples:\n"
      "  simrun batch small -o study -c l3_1core -c l3_8core\n"
      "  simrun batch suite.yaml -o study -- --sweep L2.size=256KiB,512KiB\n"
      "  simrun batch suite.yaml -o study --task pinpoints -- --validate\n"
      "  simrun batch suite.yaml -o study --slurm > study.sbatch\n"
      "Exit status: 0 all done, 1 something failed, 2 the suite or the call makes no sense.");
  const auto bar = std::find(words.begin(), words.end(), "--");
  line.parse({words.begin(), bar});
  if (bar != words.end()) o.options.assign(bar + 1, words.end());
  if (o.list + o.table + o.slurm > 1) line.usage_error("--list, --table and --slurm: one of them");
  if (o.table && tasks()[o.task].figures == nullptr) line.usage_error(fmt::format("--table: {} has no figures to put side by side", tasks()[o.task].name));
  return o;
}

std::vector<const Job*> wanted_jobs(const Plan& plan, const BatchOptions& o) {
  const auto matches = [](const Job& job, const std::string& pattern) {
    return fnmatch(pattern.c_str(), job.program->name.c_str(), 0) == 0 || fnmatch(pattern.c_str(), job.label().c_str(), 0) == 0;
  };
  for (const std::string& pattern : o.only)
    if (std::none_of(plan.jobs.begin(), plan.jobs.end(), [&](const Job& job) { return matches(job, pattern); }))
      throw UserError(fmt::format("--only {}: no program of the suite is called so (simrun batch --list names them)", pattern), 2);
  std::vector<const Job*> jobs;
  for (const Job& job : plan.jobs) {
    const bool is_named = o.only.empty() || std::any_of(o.only.begin(), o.only.end(), [&](const auto& pattern) { return matches(job, pattern); });
    if (is_named && (o.job.empty() || o.job == job.label() || o.job == std::to_string(job.number))) jobs.push_back(&job);
  }
  for (const Job* job : jobs)
    if (job->program->command.empty() && !plan.task->takes_traces)
      throw UserError(fmt::format("program {} is a trace: {} takes none (--only leaves programs out)", job->program->name, plan.task->name), 2);
  if (jobs.empty()) throw UserError(fmt::format("--job {}: there is none (simrun batch --list shows them)", o.job), 2);
  return jobs;
}

const char* state_word(JobState::Is is) {
  switch (is) {
    case JobState::Is::kDone:
      return "done";
    case JobState::Is::kRunning:
      return "running";
    case JobState::Is::kChanged:
      return "changed";
    case JobState::Is::kFailed:
      return "failed";
    case JobState::Is::kToDo:
      break;
  }
  return "to do";
}

int list(const Plan& plan, const std::vector<const Job*>& jobs) {
  size_t width = 0;
  for (const Job* job : jobs) width = std::max(width, job->label().size());
  for (const Job* job : jobs) {
    const JobState state = JobFolder(plan, *job).state(true);
    fmt::print("{:>5}  {:<{}}  {}{}{}\n", job->number, job->label(), width, state_word(state.is), state.why.empty() ? "" : ": ", state.why);
  }
  return 0;
}

int print_slurm_script(const Plan& plan, const std::vector<const Job*>& jobs, const BatchOptions& o) {
  std::vector<const Job*> missing;
  std::vector<std::string> machines;
  for (const Job* job : jobs) {
    const JobState::Is state = JobFolder(plan, *job).state(true).is;
    if (state != JobState::Is::kRunning && (o.run.restart || state != JobState::Is::kDone)) missing.push_back(job);
  }
  if (missing.empty()) throw UserError("nothing is to be done: all jobs are done, or run (--restart: again)");
  // Slurm does not run what cannot write its log.
  std::error_code error;
  fs::create_directories(plan.folder, error);
  if (error) throw UserError(fmt::format("{}: {}", plan.folder, error.message()));
  std::vector<std::string> call = {fs::read_symlink("/proc/self/exe").string(), "batch", fs::absolute(plan.suite.file).string(), "--output", plan.folder,
                                   "--task", plan.task->name};
  for (const Job& job : plan.jobs)
    if (!job.machine.empty() && std::find(machines.begin(), machines.end(), job.machine_file) == machines.end()) {
      machines.push_back(job.machine_file);
      call.insert(call.end(), {"--config", job.machine_file});
    }
  if (o.run.restart) call.emplace_back("--restart");
  fmt::print("{}", slurm_script(plan, missing, call));
  return 0;
}

// What was done with other files, options or machines than it would be now; it is run again.
void say_what_changed(const Plan& plan, const std::vector<const Job*>& jobs) {
  std::map<std::string, std::vector<std::string>> labels;  // by what is another
  for (const Job* job : jobs)
    if (const JobState state = JobFolder(plan, *job).state(); state.is == JobState::Is::kChanged) labels[state.why].push_back(job->label());
  for (const auto& [what, of] : labels)
    print_error("simrun: {}{} done before with something else ({}); the old results stay until there are new ones\n", of[0],
                of.size() == 1 ? " was" : fmt::format(" and {} more were", of.size() - 1), what);
}

// What is done, side by side: the table of `jobs`, and all in a file. Throws UserError when that cannot be written.
void report(const Plan& plan, const std::vector<const Job*>& jobs, bool quiet) {
  if (plan.task->figures == nullptr) return;
  std::vector<const Job*> all;
  for (const Job& job : plan.jobs) all.push_back(&job);
  const BatchRows found = read_rows(plan, all);
  for (const std::string& what : found.damaged) print_error("simrun: {}\n", what);
  if (!quiet) fmt::print("{}", batch_table(jobs.size() == all.size() ? found.rows : read_rows(plan, jobs).rows));
  OutputFile(fmt::format("{}/{}.csv", plan.folder, plan.task->name)).commit(batch_csv(found.rows));
}

// A reader of what is said that has gone is an error to be told, not the end of all jobs.
class IgnoredBrokenPipes {
 public:
  IgnoredBrokenPipes() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~IgnoredBrokenPipes() { std::signal(SIGPIPE, before_); }
  IgnoredBrokenPipes(const IgnoredBrokenPipes&) = delete;
  IgnoredBrokenPipes& operator=(const IgnoredBrokenPipes&) = delete;

 private:
  void (*before_)(int);
};

int run(const Plan& plan, const std::vector<const Job*>& jobs, const BatchOptions& o) {
  std::optional<IgnoredBrokenPipes> ignored(std::in_place);
  if (!o.run.restart) say_what_changed(plan, jobs);
  const JobsOutcome outcome = run_jobs(plan, jobs, o.run);
  std::string text = fmt::format("{} of {} done", outcome.done, jobs.size());
  if (outcome.failed != 0) text += fmt::format(", {} failed", outcome.failed);
  if (outcome.signal != 0) text += fmt::format("; interrupted, {}", o.run.restart ? "the same call without --restart goes on" : "the same call goes on");
  if (!o.run.quiet || outcome.failed != 0 || outcome.signal != 0) print_error("simrun: batch {}: {}; results in {}\n", plan.suite.name, text, plan.folder);
  std::fflush(stderr);
  ignored.reset();
  if (outcome.signal != 0) end_by_signal(outcome.signal);
  if (o.job.empty()) report(plan, jobs, o.run.quiet);
  return outcome.failed == 0 ? 0 : 1;
}

// Of what there is.
int print_table(const Plan& plan, const std::vector<const Job*>& jobs) {
  size_t done = 0;
  for (const Job* job : jobs) done += JobFolder(plan, *job).state().is == JobState::Is::kDone;
  if (done != jobs.size()) print_error("simrun: batch {}: {} of {} done (--list says which)\n", plan.suite.name, done, jobs.size());
  try {
    report(plan, jobs, false);
  } catch (const UserError& error) {  // of a study that one may only read
    print_error("simrun: warning: {}\n", error.what());
  }
  return 0;
}

}  // namespace

int batch_command(const Words& words) {
  const BatchOptions o = parse_batch(words);
  const Plan plan = make_plan(configs::read_suite(o.suite), tasks()[o.task], o.folder, o.machines, o.options);
  const std::vector<const Job*> jobs = wanted_jobs(plan, o);
  if (o.list) return list(plan, jobs);
  if (o.slurm) return print_slurm_script(plan, jobs, o);
  return o.table ? print_table(plan, jobs) : run(plan, jobs, o);
}

}  // namespace simrun::cli
