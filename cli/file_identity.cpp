#include "cli/file_identity.h"

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

std::string program_file(const std::vector<std::string>& command) {
  try {
    return host::find_program(command).path;
  } catch (const UserError&) {
    return {};
  }
}

}  // namespace simrun::cli
