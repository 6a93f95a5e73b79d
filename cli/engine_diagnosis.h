// What the engine leaves in its shared memory for people who look into it: its log, and names for the code in its code
// cache (docs/diagnosis.md). Both only when asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/symbols/module_symbols.h"
#include "cli/mapped_module.h"
#include "instr/host/family.h"

namespace simrun::cli {

class EngineDiagnosis {
 public:
  // `log`: a file, "-" for standard error, empty for none. Throws UserError when it cannot be written.
  EngineDiagnosis(const std::string& log, bool maps_code);
  ~EngineDiagnosis();
  EngineDiagnosis(const EngineDiagnosis&) = delete;
  EngineDiagnosis& operator=(const EngineDiagnosis&) = delete;

  // Now and then: cheap when there is nothing to do.
  void look(host::Family& family) {
    if (log_ != nullptr || maps_code_) look_at_all(family);
  }
  // The last look at a process that has ended.
  void finish(host::Target& target);
  // What the log, or the first file with names, could not be written for; empty: they are.
  const std::string& problem() const { return problem_; }

 private:
  struct Named {
    uint64_t bytes;
    std::string name;
  };
  struct Process {
    uint64_t lines = 0;    // of the log, passed on
    uint32_t entries = 0;  // of the code map, in the files
    std::vector<MapsEntry> maps;
    std::map<uint64_t, Named> code;  // by address in the code cache
  };

  void look_at_all(host::Family& family);
  void pass_log_on(const host::Target& target, Process& process);
  void name_code(const host::Target& target, Process& process);
  void replace_file(const std::string& path, const std::string& contents);
  void fail(const char* option, const std::string& path, int error);
  std::string name_of(Process& process, uint64_t pc);

  std::FILE* log_ = nullptr;
  std::string log_name_;
  bool maps_code_;
  std::string problem_;
  std::chrono::steady_clock::time_point next_names_{};
  std::map<pid_t, Process> processes_;
  std::map<std::string, std::unique_ptr<analysis::ModuleSymbols>> modules_;
};

// An ELF file with nothing but a table of functions at absolute addresses, for gdb's add-symbol-file.
struct CodeSymbol {
  uint64_t address, bytes;
  std::string name;
};
std::string symbol_file(const std::vector<CodeSymbol>& symbols);

}  // namespace simrun::cli
