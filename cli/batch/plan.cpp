#include "cli/batch/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/user_error.h"
#include "cli/file_identity.h"
#include "configs/read_machine.h"

namespace simrun::cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Those that a batch gives itself.
constexpr const char* kOwnOptions[] = {"-c", "--config", "-j", "--json", "-o", "--output", "--html", "--trace"};

// Of who calls simrun, for every program.
constexpr const char* kInherited[] = {"PATH", "HOME", "LD_LIBRARY_PATH"};

struct PlannedMachine {
  std::string name, file;
  json resolved;
};

void refuse_own_options(const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    if (option == "--") throw UserError("-- is no option for the programs of a batch: the suite says what they are", 2);
    for (const std::string own : kOwnOptions) {
      const bool is_short = own.size() == 2;
      // -c of "-c", "-cMACHINE", "-qc"
      const bool is_it = is_short ? option.size() > 1 && option[0] == '-' && std::isalpha(static_cast<unsigned char>(option[1])) != 0 &&
                                        option.substr(1, option.find_first_not_of("abcdefghijklmnopqrstuvwxyz", 1) - 1).find(own[1]) != std::string::npos
                                  : option == own || option.starts_with(own + "=");
      if (is_it) throw UserError(fmt::format("{} is no option for the programs of a batch, which says itself what the machine is and where results go", own), 2);
    }
  }
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
    PlannedMachine machine{is_host ? given : fs::path(file).stem().string(), is_host ? given : fs::absolute(file).string(),
                           configs::to_json(configs::read_machine(given))};
    const auto is_of = [&](const Task& task) { return machine.name == task.name || machine.name.starts_with(std::string(task.name) + "."); };
    if (!configs::is_name(machine.name) || std::any_of(tasks().begin(), tasks().end(), is_of))
      throw UserError(fmt::format("{}: results of a machine are kept by its file's name, which must be of letters, digits, '.', '_', '+' and '-', and no task's ({})",
                                  given, machine.name), 2);
    if (std::any_of(machines.begin(), machines.end(), [&](const auto& m) { return m.name == machine.name; }))
      throw UserError(fmt::format("two machines are called {}: results are kept by that name", machine.name), 2);
    machines.push_back(std::move(machine));
  }
  return machines;
}

// Everything but the machine.
json definition_of(const configs::SuiteProgram& p, const Plan& plan) {
  std::vector<std::string> options = p.options;
  options.insert(options.end(), plan.options.begin(), plan.options.end());
  json environment = json::object();
  for (const auto& [name, value] : job_environment(p)) environment[name] = value;
  return {{"simrun_version", SIMRUN_VERSION}, {"task", plan.task->name},   {"command", p.command}, {"trace", p.trace},   {"input", p.input},
          {"directory", p.directory},         {"environment", environment}, {"options", options},   {"status", p.status}, {"output", p.keeps_output},
          {"files", files_of(p)}};
}

}  // namespace

const std::vector<Task>& tasks() {
  static const std::vector<Task> kTasks = {{"run", true, true, "result.json", "result.html", true, "result.json", false},
                                           {"sharing", true, false, "result.json", nullptr, true, nullptr, false},
                                           {"pinpoints", true, true, "result", nullptr, false, "result/report.json", true},
                                           {"bbv", false, false, "profile.bb.zst", nullptr, false, nullptr, false},
                                           {"record", false, false, "run.trace", nullptr, false, nullptr, false}};
  return kTasks;
}

Plan make_plan(configs::Suite suite, const Task& task, const std::string& folder, std::vector<std::string> machines,
               std::vector<std::string> options) {
  Plan plan{std::move(suite), &task, fs::absolute(folder).string(), std::move(options), {}};
  const bool from_suite = machines.empty();
  if (from_suite) machines = plan.suite.machines;
  refuse_own_options(plan.options);
  const auto simulates = [&](const configs::SuiteProgram& p) { return task.needs_machine && !simulates_nothing(p.options) && !simulates_nothing(plan.options); };
  for (const configs::SuiteProgram& program : plan.suite.programs) refuse_own_options(program.options);
  const bool any = std::any_of(plan.suite.programs.begin(), plan.suite.programs.end(), simulates);
  if (any && machines.empty())
    throw UserError("which machines? Give --config MACHINE, again for another (configs/README.md), or 'machines' in the suite", 2);
  if (!any && !machines.empty() && !from_suite) throw UserError(fmt::format("--config: {} simulates no machine here", task.name), 2);
  const std::vector<PlannedMachine> all = any ? read_machines(machines) : std::vector<PlannedMachine>();
  const std::vector<PlannedMachine> none = {{}};
  for (const configs::SuiteProgram& program : plan.suite.programs) {
    const json definition = definition_of(program, plan);
    for (const PlannedMachine& machine : simulates(program) ? all : none) {
      Job job{plan.jobs.size() + 1, &program, machine.name, machine.file, definition};
      if (!machine.name.empty()) job.definition["machine"] = machine.resolved;
      job.definition = json::parse(json_text(job.definition));
      plan.jobs.push_back(std::move(job));
    }
  }
  return plan;
}

json files_of(const configs::SuiteProgram& p) {
  json all = json::object();
  for (const std::string& file : p.files) all[file] = identity_of_tree(file);
  for (const std::string& file : {p.input, p.trace})
    if (!file.empty()) all[file] = identity_of(file);
  std::optional<std::string> search;
  for (const auto& [name, value] : job_environment(p))
    if (name == "PATH") search = value;
  if (const std::string file = program_file(p.command, search ? search->c_str() : nullptr); !file.empty()) all[file] = identity_of(file);
  return json::parse(json_text(all));  // as what is read from job.json
}

std::vector<std::pair<std::string, std::string>> job_environment(const configs::SuiteProgram& program) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto set = [&](const std::string& name, const std::string& value) {
    const auto known = std::find_if(all.begin(), all.end(), [&](const auto& variable) { return variable.first == name; });
    if (known == all.end())
      all.emplace_back(name, value);
    else
      known->second = value;
  };
  const auto inherit = [&](const std::string& name) {
    if (const char* value = std::getenv(name.c_str())) set(name, value);
  };
  for (const char* name : kInherited) inherit(name);
  for (const std::string& name : program.inherit) inherit(name);
  for (const auto& [name, value] : program.environment) set(name, value);
  return all;
}

std::vector<std::string> task_words(const Plan& plan, const Job& job, const TaskFiles& files) {
  const bool is_trace = job.program->command.empty();
  const bool replays = is_trace && plan.task->result_is_report;
  std::vector<std::string> words = {replays ? "sim" : plan.task->name};
  if (replays) words.push_back(job.program->trace);
  if (!job.machine.empty()) words.insert(words.end(), {"--config", files.machine});
  words.insert(words.end(), {plan.task->result_is_report ? "--json" : "--output", files.result});
  if (plan.task->page != nullptr) words.insert(words.end(), {"--html", files.page});
  // What they say at the end is in their results; what is against them is said all the same.
  if (!plan.task->result_is_report) words.emplace_back("--quiet");
  for (const auto& options : {job.program->options, plan.options}) words.insert(words.end(), options.begin(), options.end());
  if (is_trace && !replays) words.insert(words.end(), {"--trace", job.program->trace});
  if (is_trace) return words;
  words.push_back("--");
  words.insert(words.end(), job.program->command.begin(), job.program->command.end());
  return words;
}

std::string json_text(const json& document) { return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n"; }

}  // namespace simrun::cli
