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
  // `start`: address of the program's first instruction, in itself or in its dynamic loader.
  TraceModules(pid_t pid, uint64_t start) : pid_(pid), start_(start) {}

  // What is mapped now and was not before (at the same place).
  std::vector<traces::Module> update();

 private:
  bool is_ours(const traces::Module& module, const std::string& program) const;

  pid_t pid_;
  uint64_t start_;
  bool first_ = true;
  std::set<std::string> known_;
};

// Lines of /proc/PID/maps with execute permission. Exposed for tests.
std::vector<traces::Module> executable_mappings(const std::string& maps);

}  // namespace simrun::cli
