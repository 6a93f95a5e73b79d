#include "configs/find_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/nearest_word.h"
#include "base/user_error.h"
#include "base/whole_file.h"
#include "configs/read_machine.h"
#include "configs/read_suite.h"

namespace simrun::configs {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> search_directories(const FileKind& kind) {
  std::vector<std::string> directories = {"."};
  if (const char* path = std::getenv("SIMRUN_CONFIG_PATH")) {
    std::istringstream stream(path);
    for (std::string part; std::getline(stream, part, ':');)
      if (!part.empty()) directories.push_back(part);
  }
  directories.push_back(kind.directory);
  return directories;
}

// Of those in `directories` but the first, the working directory, which may hold anything.
std::vector<std::string> names_in(const std::vector<std::string>& directories) {
  std::vector<std::string> names;
  for (size_t i = 1; i < directories.size(); ++i) {
    std::error_code error;
    for (fs::directory_iterator entry(directories[i], error), end; !error && entry != end; entry.increment(error))
      if (entry->path().extension() == ".yaml") names.push_back(entry->path().stem().string());
  }
  return names;
}

std::string known_names(const std::vector<std::string>& directories, const std::string& wanted) {
  const std::string meant = nearest_word(fs::path(wanted).stem().string(), names_in(directories));
  return meant.empty() ? "" : fmt::format("; did you mean {}?", meant);
}

}  // namespace

FileKind& machine_files() {
  static FileKind kind{"machine", SIMRUN_CONFIGS_DIRECTORY "/machines"};
  return kind;
}

FileKind& suite_files() {
  static FileKind kind{"suite", SIMRUN_CONFIGS_DIRECTORY "/suites"};
  return kind;
}

std::vector<std::string> names_of(const FileKind& kind) {
  std::vector<std::string> names = names_in(search_directories(kind));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string find_file(const FileKind& kind, const std::string& path_or_bare_name) {
  std::error_code error;
  if (path_or_bare_name.empty()) throw UserError(fmt::format("the name of the {} file is empty", kind.noun), 2);
  if (path_or_bare_name.find('/') != std::string::npos) {
    if (fs::is_directory(path_or_bare_name, error))
      throw UserError(fmt::format("{}: a directory, not a {} file", path_or_bare_name, kind.noun), 2);
    if (!fs::exists(path_or_bare_name, error) && fs::is_regular_file(path_or_bare_name + ".yaml", error)) return path_or_bare_name + ".yaml";
    if (!fs::exists(path_or_bare_name, error))
      throw UserError(fmt::format("{}: no such {} file", path_or_bare_name, kind.noun), 2);
    return path_or_bare_name;
  }
  const std::vector<std::string> directories = search_directories(kind);
  for (const std::string& directory : directories)
    for (const char* suffix : {"", ".yaml"}) {
      const fs::path candidate = fs::path(directory) / (path_or_bare_name + suffix);
      if (fs::is_regular_file(candidate, error)) return candidate.lexically_normal().string();
    }
  throw UserError(fmt::format("{}: no such {} file in {}{}", path_or_bare_name, kind.noun, fmt::join(directories, ", "),
                              known_names(directories, path_or_bare_name)),
                  2);
}

std::string text_of_file(const std::string& path) {
  std::string text;
  if (const int error = read_whole(path.c_str(), &text)) throw UserError(fmt::format("{}: cannot be read: {}", path, std::strerror(error)), 2);
  return text;
}

void set_machines_directory(const std::string& directory) { machine_files().directory = directory; }

void set_suites_directory(const std::string& directory) { suite_files().directory = directory; }

std::vector<std::string> machine_names() { return names_of(machine_files()); }

std::vector<std::string> suite_names() { return names_of(suite_files()); }

std::string find_machine(const std::string& path_or_bare_name) { return find_file(machine_files(), path_or_bare_name); }

}  // namespace simrun::configs
