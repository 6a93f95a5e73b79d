#include "cli/batch/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/user_error.h"
#include "cli/file_identity.h"
#include "configs/read_machine.h"

namespace simrun::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Those that a batch gives itself.
constexpr const char* kOwnOptions[] = {"-c", "--config", "-j", "--json", "-o", "--output", "--trace"};

struct PlannedMachine {
  std::string name, file;
  json resolved;
};

void refuse_own_options(const std::vector<std::string>& options) {
  for (const std::string& option : options)
    for (const std::string own : kOwnOptions)
      if (option == own || option.starts_with(own + "=") || (own.size() == 2 && !option.starts_with("--") && option.starts_with(own)))
        throw UserError(fmt::format("{} is no option for the programs of a batch, which says itself what the machine is and where results go", own), 2);
}

bool simulates_nothing(const std::vector<std::string>& options) {
  const auto mode = std::find_if(options.begin(), options.end(), [](const std::string& word) { return word.starts_with("--mode"); });
  if (mode == options.end()) return false;
  const std::string word = *mode != "--mode" ? mode->substr(std::min<size_t>(mode->size(), 7)) : mode + 1 == options.end() ? "" : mode[1];
  return word != "sim";
}

std::vector<PlannedMachine> read_machines(const std::vector<std::string>& names) {
  std::vector<PlannedMachine> machines;
  for (const std::string& given : names) {
    const bool is_host = given == "host";
    const std::string file = is_host ? given : configs::find_machine(given);
    PlannedMachine machine{is_host ? given : fs::path(file).stem().string(), is_host ? given : fs::absolute(file).lexically_normal().string(),
                           configs::to_json(configs::read_machine(given))};
    if (std::any_of(machines.begin(), machines.end(), [&](const auto& m) { return m.name == machine.name; }))
      throw UserError(fmt::format("two machines are called {}: results are kept by that name", machine.name), 2);
    machines.push_back(std::move(machine));
  }
  return machines;
}

json identities(const std::vector<std::string>& files) {
  json all = json::object();
  for (const std::string& file : files)
    if (!file.empty()) all[file] = identity_of(file);
  return all;
}

// Everything but the machine.
json definition_of(const configs::SuiteProgram& p, const Plan& plan) {
  std::vector<std::string> options = p.options;
  options.insert(options.end(), plan.options.begin(), plan.options.end());
  std::vector<std::string> files = p.files;
  files.insert(files.end(), {p.input, p.trace, p.command.empty() ? "" : program_file(p.command)});
  json inherited = json::object();
  for (const std::string& name : p.inherit)
    if (const char* value = std::getenv(name.c_str())) inherited[name] = value;
  return {{"simrun_version", SIMRUN_VERSION}, {"task", plan.task->name}, {"command", p.command},     {"trace", p.trace},
          {"input", p.input},                 {"directory", p.directory}, {"environment", p.environment}, {"options", options},
          {"output", p.keeps_output},         {"status", p.status},       {"files", identities(files)},
          {"inherited", inherited}};
}

}  // namespace

const std::vector<Task>& tasks() {
  static const std::vector<Task> kTasks = {{"run", true, true, "result.json", true, "result.json", false},
                                           {"sharing", true, false, "result.json", true, nullptr, false},
                                           {"pinpoints", true, true, "result", false, "result/report.json", true},
                                           {"bbv", false, false, "profile.bb.zst", false, nullptr, false},
                                           {"record", false, false, "run.trace", false, nullptr, false}};
  return kTasks;
}

Plan make_plan(configs::Suite suite, const Task& task, const std::string& folder, std::vector<std::string> machines,
               std::vector<std::string> options) {
  Plan plan{std::move(suite), &task, fs::absolute(folder).lexically_normal().string(), std::move(options), {}};
  const bool from_suite = machines.empty();
  if (from_suite) machines = plan.suite.machines;
  refuse_own_options(plan.options);
  bool simulates = task.needs_machine;
  for (const configs::SuiteProgram& program : plan.suite.programs) {
    refuse_own_options(program.options);
    simulates &= !simulates_nothing(program.options) && !simulates_nothing(plan.options);
    if (program.command.empty() && !task.takes_traces)
      throw UserError(fmt::format("program {} is a trace: {} takes none", program.name, task.name), 2);
  }
  if (simulates && machines.empty())
    throw UserError("which machines? Give --config MACHINE, again for another (configs/README.md), or 'machines' in the suite", 2);
  if (!simulates && !machines.empty() && !from_suite) throw UserError(fmt::format("--config: {} simulates no machine here", task.name), 2);
  const std::vector<PlannedMachine> all = simulates ? read_machines(machines) : std::vector<PlannedMachine>{{}};
  for (const configs::SuiteProgram& program : plan.suite.programs) {
    const json definition = definition_of(program, plan);
    for (const PlannedMachine& machine : all) {
      Job job{plan.jobs.size() + 1, &program, machine.name, machine.file, definition};
      if (!machine.name.empty()) job.definition["machine"] = machine.resolved;
      job.definition = json::parse(json_text(job.definition));
      plan.jobs.push_back(std::move(job));
    }
  }
  return plan;
}

std::vector<std::string> task_words(const Plan& plan, const Job& job, const std::string& result) {
  const bool is_trace = job.program->command.empty();
  const bool replays = is_trace && plan.task->result_is_report;
  std::vector<std::string> words = {replays ? "sim" : plan.task->name};
  if (replays) words.push_back(job.program->trace);
  if (!job.machine.empty()) words.insert(words.end(), {"--config", job.machine_file});
  words.insert(words.end(), {plan.task->result_is_report ? "--json" : "--output", result});
  for (const auto& options : {job.program->options, plan.options}) words.insert(words.end(), options.begin(), options.end());
  if (is_trace && !replays) words.insert(words.end(), {"--trace", job.program->trace});
  if (is_trace) return words;
  words.push_back("--");
  words.insert(words.end(), job.program->command.begin(), job.program->command.end());
  return words;
}

std::string json_text(const json& document) { return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n"; }

}  // namespace simrun::cli
