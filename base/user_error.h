// UserError: what the user or the environment did wrong. The message says what, where, and what to do; `main` prints it
// once and ends with `exit_status` (2 usage, 1 failure). Never thrown in the target process.
#pragma once

#include <stdexcept>
#include <string>

namespace simrun {

struct UserError : std::runtime_error {
  explicit UserError(const std::string& message, int status = 1) : std::runtime_error(message), exit_status(status) {}
  int exit_status;
};

}  // namespace simrun
