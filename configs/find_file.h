// From what the user wrote for a machine or a suite to a file.
#pragma once

#include <string>
#include <vector>

namespace simrun::configs {

// One kind of file: where those that come with simrun are, and what messages call it.
struct FileKind {
  const char* noun;       // "machine": "no such machine file"
  std::string directory;  // of those that come with simrun
};

FileKind& machine_files();
FileKind& suite_files();

// A path, or a name without '/' (with or without ".yaml") that is looked for in the working directory, then in the directories of
// SIMRUN_CONFIG_PATH (separated by ':'), then in that of its kind. Throws UserError with exit status 2.
std::string find_file(const FileKind& kind, const std::string& path_or_bare_name);

// All of a kind that a bare name means, but for those in the working directory: sorted.
std::vector<std::string> names_of(const FileKind& kind);

// What is in a file. Throws UserError with exit status 2.
std::string text_of_file(const std::string& path);

}  // namespace simrun::configs
