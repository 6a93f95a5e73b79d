// Names for the addresses of a trace, from the files that its modules were mapped from, as far as they are there.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/symbols/module_symbols.h"
#include "traces/reader.h"

namespace simrun::cli {

class TraceSymbols {
 public:
  explicit TraceSymbols(const traces::Reader& trace) : trace_(trace) {}

  // "function at file:line in module", as much of it as is known; empty: in no module. A file whose build id is not
  // that of the recorded one gives its module's name only.
  const std::string& name(uint32_t process, uint64_t pc);
  struct Code {
    std::vector<analysis::SourceFrame> frames;  // inlined functions first; empty: unknown
    std::string module;                         // its path; empty: none
  };
  // The same in parts.
  Code code(uint32_t process, uint64_t pc);
  struct Function {
    std::optional<analysis::LinkedFunction> linked;
    std::string module;    // its path; empty: none
    uint64_t address = 0;  // of `pc`, as the module's file has it
  };
  Function function(uint32_t process, uint64_t pc);

 private:
  struct Place {
    const traces::Module* module = nullptr;           // null: none
    analysis::ModuleSymbols* symbols = nullptr;       // null: its file is not there any more
    std::optional<uint64_t> address;                  // in the file
  };
  Place place(uint32_t process, uint64_t pc);
  analysis::ModuleSymbols* symbols_of(const traces::Module& module);
  std::string find(uint32_t process, uint64_t pc);

  const traces::Reader& trace_;
  std::map<std::string, std::unique_ptr<analysis::ModuleSymbols>> by_path_;
  std::map<std::pair<uint32_t, uint64_t>, std::string> known_;
};

}  // namespace simrun::cli
