#include "cli/file_identity.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/user_error.h"
#include "instr/host/program_lookup.h"

namespace simrun::cli {

nlohmann::json identity_of(const struct stat& s) {
  if (!S_ISREG(s.st_mode)) return nullptr;
  return {s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
}

nlohmann::json identity_of(const std::string& path) {
  struct stat s {};
  return stat(path.c_str(), &s) == 0 ? identity_of(s) : nlohmann::json();
}

nlohmann::json identity_of_tree(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return identity_of(path);
  uint64_t entries = 0;
  int64_t bytes = 0;
  std::pair<int64_t, int64_t> latest;
  const auto add = [&](const char* name) {
    struct stat s {};
    if (lstat(name, &s) != 0) return;
    ++entries;
    if (S_ISREG(s.st_mode)) bytes += s.st_size;
    latest = std::max(latest, std::pair<int64_t, int64_t>(s.st_mtim.tv_sec, s.st_mtim.tv_nsec));
  };
  for (fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, error), end; !error && entry != end; entry.increment(error))
    add(entry->path().c_str());
  return {entries, bytes, latest.first, latest.second};
}

std::string program_file(const std::vector<std::string>& command, const char* search) {
  try {
    return host::find_program(command, search).path;
  } catch (const UserError&) {
    return {};
  }
}

}  // namespace simrun::cli
