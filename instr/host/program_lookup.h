// From the command line to a file that execve will accept, or a message that says why there is none.
#pragma once

#include <string>
#include <vector>

namespace simrun::host {

struct Program {
  std::string path;                    // first argument of execve
  std::vector<std::string> arguments;  // argv, with argv[0] as the user wrote it
};

// Searches as execvp does and runs a script without an interpreter line through /bin/sh, as execvp and shells do. Throws UserError with
// status 127 (not found) or 126 (found, cannot be executed).
Program find_program(const std::vector<std::string>& command);
// Likewise, with another value of PATH than this process's; null: as if there were none.
Program find_program(const std::vector<std::string>& command, const char* search);

}  // namespace simrun::host
