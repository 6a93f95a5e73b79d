#include "cli/trace_modules.h"

#include <fmt/format.h>

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "traces/elf_file.h"

namespace simrun::cli {

std::vector<traces::Module> executable_mappings(const std::string& maps) {
  std::vector<traces::Module> modules;
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    traces::Module m;
    char permissions[5] = {};
    int name = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &m.start, &m.end, permissions,
                    &m.file_offset, &name) < 4 ||
        permissions[2] != 'x' || name == 0)
      continue;
    m.path = line.substr(static_cast<size_t>(name));
    const bool is_file = m.path.starts_with("/") && !m.path.starts_with("/memfd:simrun");
    if (is_file || m.path == "[vdso]") modules.push_back(std::move(m));
  }
  return modules;
}

// At the start the engine's libraries lie there as well: of all that is mapped, only the program, what holds its first
// instruction, and the kernel's page are the program's.
bool TraceModules::is_engines(const traces::Module& m, const std::string& program) const {
  return m.path != program && m.path != "[vdso]" && (start_ < m.start || start_ >= m.end);
}

std::vector<traces::Module> TraceModules::update() {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid_), error).string();
  std::ifstream file(fmt::format("/proc/{}/maps", pid_));
  std::stringstream text;
  text << file.rdbuf();
  std::vector<traces::Module> fresh;
  for (traces::Module& m : executable_mappings(text.str())) {
    if (!known_.insert(fmt::format("{:x}-{:x}+{:x} {}", m.start, m.end, m.file_offset, m.path)).second) continue;
    if (first_ && is_engines(m, program)) continue;
    m.process = process_;
    m.build_id = traces::build_id_of(m.path);
    fresh.push_back(std::move(m));
  }
  first_ = false;
  all_.insert(all_.end(), fresh.begin(), fresh.end());
  return fresh;
}

TraceModules TraceModules::of_child(uint32_t process, pid_t pid) const {
  TraceModules child = *this;
  child.process_ = process;
  child.pid_ = pid;
  for (traces::Module& module : child.all_) module.process = process;
  return child;
}

}  // namespace simrun::cli
