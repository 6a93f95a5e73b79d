// The files mapped executable in a live process, for a trace: looked at whenever the process says that its mappings changed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "traces/record.h"

namespace simrun::cli {

class TraceModules {
 public:
  explicit TraceModules(pid_t pid) : pid_(pid) {}

  // What is mapped now and was not before (at the same place).
  std::vector<traces::Module> update();

 private:
  pid_t pid_;
  std::set<std::string> known_;
};

// Lines of /proc/PID/maps with execute permission. Exposed for tests.
std::vector<traces::Module> executable_mappings(const std::string& maps);

}  // namespace simrun::cli
