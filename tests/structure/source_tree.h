// Rules about the source tree. Each function returns one line per violation, empty when the rule holds.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace simrun::structure {

using Violations = std::vector<std::string>;

// The text files below `root`, sorted, relative to it; without build output and the version control's own files.
std::vector<std::filesystem::path> project_files(const std::filesystem::path& root);

std::string read_all(const std::filesystem::path& file);

Violations forbidden_includes(const std::filesystem::path& root);

// `forbidden`: strings that no file may contain.
Violations machine_paths(const std::filesystem::path& root, const std::vector<std::string>& forbidden);

// `exceptions`: a file of lines `path reason`, relative to root.
Violations long_files(const std::filesystem::path& root, const std::filesystem::path& exceptions);

// Documents of `folder` (relative to root) that its README.md does not link to exactly once, and links there to documents that do not exist.
Violations unlisted_documents(const std::filesystem::path& root, const std::filesystem::path& folder);

}  // namespace simrun::structure
