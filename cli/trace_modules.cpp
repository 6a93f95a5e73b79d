#include "cli/trace_modules.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/mapped_module.h"
#include "traces/elf_file.h"

namespace simrun::cli {

namespace {

bool holds_code(const MapsEntry& e) {
  const bool is_file = e.path.starts_with("/") && !e.path.starts_with("/memfd:simrun");
  return e.executable && (is_file || e.path == "[vdso]");
}

}  // namespace

// At the start the engine's libraries lie there as well: of all that is mapped, only the program, what holds its first
// instruction, and the kernel's page are the program's.
bool TraceModules::is_engines(const traces::Module& m, const std::string& program) const {
  return m.path != program && m.path != "[vdso]" && (start_ < m.start || start_ >= m.end);
}

std::vector<traces::Module> TraceModules::update() {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid_), error).string();
  std::vector<traces::Module> fresh;
  for (const MapsEntry& e : known_mappings(pid_)) {
    if (!holds_code(e)) continue;
    traces::Module m{process_, e.path, "", e.start, e.end, e.offset};
    if (!known_.insert(fmt::format("{:x}-{:x}+{:x} {}", m.start, m.end, m.file_offset, m.path)).second) continue;
    if (first_ && is_engines(m, program)) continue;
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
