// Threads where the system may have none left (`ulimit -u`, a container's limit of tasks, no memory for their stacks).
#pragma once

#include <string>
#include <system_error>
#include <utility>

#include "base/user_error.h"

namespace simrun {

// Runs `make`, which makes threads; throws UserError where one cannot be made. `what`: what they are for, and the option that says
// how many there are to be. Threads made until then are the caller's to end: one that is destroyed without being joined ends the process.
template <class Make>
void make_threads(const std::string& what, Make&& make) {
  try {
    std::forward<Make>(make)();
  } catch (const std::system_error& error) {
    throw UserError("no more threads for " + what + ": " + error.what());
  }
}

}  // namespace simrun
