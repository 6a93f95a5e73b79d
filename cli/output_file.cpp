#include "cli/output_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/user_error.h"
#include "cli/file_identity.h"

namespace simrun::cli {

namespace {

// Also of files that do not exist. A device (/dev/null, a pipe) may be given several times.
bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (std::filesystem::exists(a, error) && !std::filesystem::is_regular_file(a, error)) return false;
  if (std::filesystem::equivalent(a, b, error)) return true;
  const auto canonical = [&](const std::string& path) { return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error); };
  return canonical(a) == canonical(b);
}

}  // namespace

NamedFile program_itself(const std::vector<std::string>& command) {
  return {"the program", command.empty() ? "" : program_file(command, std::getenv("PATH"))};
}

void refuse_same_file(const std::vector<NamedFile>& files) {
  for (size_t i = 0; i < files.size(); ++i)
    for (size_t j = i + 1; j < files.size(); ++j)
      if (!files[i].path.empty() && !files[j].path.empty() && is_same_file(files[i].path, files[j].path))
        throw UserError(std::string_view(files[i].option) == files[j].option ? fmt::format("{} {} is given twice", files[i].option, files[j].path)
                                                                            : fmt::format("{} and {} are the same file: {}", files[i].option, files[j].option, files[j].path), 2);
}

}  // namespace simrun::cli
