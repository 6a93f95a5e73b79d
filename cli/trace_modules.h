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
  TraceModules() = default;
  // `process`: its number; `start`: address of the program's first instruction, in itself or in its dynamic loader.
  TraceModules(uint32_t process, pid_t pid, uint64_t start) : process_(process), pid_(pid), start_(start) {}
  // Of a child that was forked just now.
  TraceModules of_child(uint32_t process, pid_t pid) const;

  // What is mapped now and was not before (at the same place).
  std::vector<traces::Module> update();
  // What was ever mapped, of the parent's until the fork.
  const std::vector<traces::Module>& all() const { return all_; }

 private:
  bool is_engines(const traces::Module& module, const std::string& program) const;

  uint32_t process_ = 0;
  pid_t pid_ = 0;
  uint64_t start_ = 0;
  bool first_ = true;
  std::set<std::string> known_;
  std::vector<traces::Module> all_;
};

}  // namespace simrun::cli
