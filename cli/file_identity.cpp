#define XXH_INLINE_ALL  // before the header is first read
#include "cli/file_identity.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>

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
  uint64_t entries = 0, sum = 0;  // in whatever order they are found
  for (fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, error), end; !error && entry != end; entry.increment(error)) {
    struct stat s {};
    if (lstat(entry->path().c_str(), &s) != 0) continue;
    const bool has_size = S_ISREG(s.st_mode) || S_ISLNK(s.st_mode);
    const std::string what = fmt::format("{}//{:o} {} {}.{}", entry->path().string().substr(path.size()), s.st_mode, has_size ? s.st_size : 0, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
    sum += XXH3_64bits(what.data(), what.size());
    ++entries;
  }
  return {entries, fmt::format("{:016x}", sum)};
}

std::string program_file(const std::vector<std::string>& command, const char* search) {
  try {
    return host::find_program(command, search).path;
  } catch (const UserError&) {
    return {};
  }
}

}  // namespace simrun::cli
