#include "configs/read_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/parse_quantity.h"
#include "base/user_error.h"
#include "configs/find_file.h"
#include "configs/strict_yaml.h"

namespace simrun::configs {

namespace {

namespace fs = std::filesystem;

// Of the suite they are what its programs have who say nothing else.
const std::vector<std::string> kSharedKeys = {"environment", "inherit", "options", "output", "time_limit"};
const std::vector<std::string> kOwnKeys = {"name", "command", "trace", "input", "directory", "files", "status"};
const std::vector<std::string> kSuiteKeys = {"name", "description", "machines", "programs"};
const std::vector<std::string> kOutputWords = {"keep", "discard"};
constexpr size_t kLongestName = 128;
constexpr double kLongestLimit = 1e8;  // seconds: three years

std::vector<std::string> with_shared_keys(std::vector<std::string> keys) {
  keys.insert(keys.end(), kSharedKeys.begin(), kSharedKeys.end());
  return keys;
}

}  // namespace

bool is_name(const std::string& name) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || std::string_view("._+-").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' && name[0] != '-' && !name.ends_with(".csv") && std::all_of(name.begin(), name.end(), is_plain);
}

namespace {

// As it is: `..` behind a symbolic link is where that leads.
std::string absolute(const StrictMap& map, const std::string& path) {
  return (fs::absolute(map.file()).parent_path() / (path.starts_with("./") ? path.substr(2) : path)).string();
}

std::string existing(const StrictMap& map, const std::string& key, const std::string& path, bool is_folder) {
  std::string full = absolute(map, path);
  std::error_code error;
  if (path.empty() || !fs::exists(full, error)) map.fail(key, fmt::format("'{}': there is no {}", key, full));
  if (fs::is_directory(full, error) != is_folder) map.fail(key, fmt::format("'{}': {} is {} folder", key, full, is_folder ? "no" : "a"));
  // To open one waits for whoever is at its other end.
  if (fs::is_fifo(full, error) || fs::is_socket(full, error)) map.fail(key, fmt::format("'{}': {} is no plain file", key, full));
  return full;
}

double read_duration(const StrictMap& map) {
  const std::string text = map.text("time_limit");
  double seconds = 0;
  if (!parse_duration(text, &seconds) || !(seconds > 0) || seconds > kLongestLimit)
    map.fail("time_limit", fmt::format("'time_limit' must be a time such as 90s, 10m or 2h, not '{}'", text));
  return seconds;
}

void check_variable(const StrictMap& map, const char* key, const std::string& name) {
  if (name.empty() || name.find('=') != std::string::npos) map.fail(key, fmt::format("'{}' is no name of a variable", name));
}

// What the suite and its programs may both say. Options and variables of a program come behind those of the suite.
void read_shared(const StrictMap& map, SuiteProgram& to) {
  if (map.has("environment"))
    for (auto& variable : map.named_texts("environment")) {
      check_variable(map, "environment", variable.first);
      to.environment.push_back(std::move(variable));
    }
  if (map.has("inherit"))
    for (std::string& name : map.texts("inherit")) {
      check_variable(map, "inherit", name);
      to.inherit.push_back(std::move(name));
    }
  if (map.has("options"))
    for (std::string& option : map.texts("options")) to.options.push_back(std::move(option));
  if (map.has("output")) to.keeps_output = map.choice("output", kOutputWords) == 0;
  if (map.has("time_limit")) to.time_limit = read_duration(map);
}

void read_what_runs(const StrictMap& map, SuiteProgram& program) {
  if (map.has("command") == map.has("trace"))
    map.fail("name", fmt::format("program {} needs a 'command' or a 'trace', one of the two", program.name));
  if (map.has("trace")) {
    for (const char* key : {"input", "directory", "files", "status", "output", "environment", "inherit"})
      if (map.has(key)) map.fail(key, fmt::format("'{}' is for a program that runs: not with 'trace'", key));
    program.trace = existing(map, "trace", map.text("trace"), false);
    return;
  }
  program.command = map.texts("command");
  if (program.command.empty() || program.command[0].empty()) map.fail("command", "'command' is empty: a program and its arguments");
  if (program.command[0].find('/') != std::string::npos) program.command[0] = existing(map, "command", program.command[0], false);
  if (map.has("input")) program.input = existing(map, "input", map.text("input"), false);
  if (map.has("directory") && map.has("files")) map.fail("files", "'files' are for a new folder: not with 'directory'");
  if (map.has("directory")) program.directory = existing(map, "directory", map.text("directory"), true);
  if (map.has("status")) {
    const uint32_t status = map.count("status");
    if (status > 255) map.fail("status", "'status' must be from 0 to 255");
    program.status = static_cast<int>(status);
  }
  if (!map.has("files")) return;
  std::set<std::string> names;
  for (const std::string& file : map.texts("files")) {
    const fs::path full = absolute(map, file);
    std::error_code error;
    if (file.empty() || !fs::exists(full, error)) map.fail("files", fmt::format("'files': there is no {}", full.string()));
    program.files.push_back(full.has_filename() ? full.string() : full.parent_path().string());
    const std::string name = fs::path(program.files.back()).filename().string();
    if (name.empty() || name == "." || name == "..") map.fail("files", fmt::format("'files': {} has no name to be found by", full.string()));
    if (!names.insert(name).second) map.fail("files", fmt::format("'files': two are called {}", name));
  }
}

SuiteProgram read_program(const std::string& file, const YAML::Node& node, size_t index, SuiteProgram program) {
  const StrictMap map(file, node, fmt::format("program {}", index + 1), with_shared_keys(kOwnKeys));
  program.name = map.text("name");
  if (!is_name(program.name))
    map.fail("name", fmt::format("the name '{}' must be of letters, digits, '.', '_', '+' and '-', at most {}, not begin with '.' or '-' and not end in .csv",
                                 program.name, kLongestName));
  read_shared(map, program);
  read_what_runs(map, program);
  return program;
}

// A bare name stays one; a path is from the suite's folder.
std::string machine_of(const StrictMap& map, const std::string& machine) {
  if (machine.empty()) map.fail("machines", "'machines': a name is empty");
  return machine.find('/') == std::string::npos ? machine : absolute(map, machine);
}

Suite build_suite(const YAML::Node& root, const std::string& file) {
  if (!root || root.IsNull()) throw UserError(file + ": the file is empty; docs/batch.md says what a suite needs", 2);
  const StrictMap map(file, root, "the suite", with_shared_keys(kSuiteKeys));
  Suite suite;
  suite.file = file;
  suite.name = map.has("name") ? map.text("name") : fs::path(file).stem().string();
  if (!is_name(suite.name)) map.fail("name", fmt::format("the name '{}' must be of letters, digits, '.', '_', '+' and '-'", suite.name));
  if (map.has("description")) suite.description = map.text("description");
  if (map.has("machines"))
    for (const std::string& machine : map.texts("machines")) suite.machines.push_back(machine_of(map, machine));
  SuiteProgram shared;
  read_shared(map, shared);
  const YAML::Node list = map.required("programs");
  if (!list.IsSequence() || list.size() == 0) map.fail("programs", "'programs' must be a list of at least one program");
  std::set<std::string> names;
  for (size_t i = 0; i < list.size(); ++i) {
    suite.programs.push_back(read_program(file, list[i], i, shared));
    if (!names.insert(suite.programs.back().name).second)
      fail_at(file, list[i].Mark(), fmt::format("two programs are called {}", suite.programs.back().name));
  }
  return suite;
}

}  // namespace

Suite parse_suite(const std::string& text, const std::string& file) {
  return read_document<Suite>(text, file, "a suite", [&](const YAML::Node& root) { return build_suite(root, file); });
}

Suite read_suite(const std::string& path_or_bare_name) {
  const std::string path = find_file(suite_files(), path_or_bare_name);
  return parse_suite(text_of_file(path), path);
}

}  // namespace simrun::configs
