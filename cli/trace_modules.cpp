#include "cli/trace_modules.h"

#include <fmt/format.h>

#include <cinttypes>
#include <cstdio>
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

std::vector<traces::Module> TraceModules::update() {
  std::ifstream file(fmt::format("/proc/{}/maps", pid_));
  std::stringstream text;
  text << file.rdbuf();
  std::vector<traces::Module> fresh;
  for (traces::Module& m : executable_mappings(text.str())) {
    if (!known_.insert(fmt::format("{:x}-{:x}+{:x} {}", m.start, m.end, m.file_offset, m.path)).second) continue;
    m.build_id = traces::build_id_of(m.path);
    fresh.push_back(std::move(m));
  }
  return fresh;
}

}  // namespace simrun::cli
