// Where threads wait for each other: the functions of OpenMP's and POSIX's libraries that begin parallel regions and
// that are barriers, found by their names in the symbol tables of modules.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "analysis/symbols/module_symbols.h"
#include "cli/phases/path_blocks.h"
#include "simpoint/profile.h"

namespace simrun::cli {

class Barriers {
 public:
  // Of the function whose first instruction is at `place`.
  Synchronisation at(const simpoint::CodePlace& place);
  // The module has such functions.
  bool in_module(const std::string& module) { return !module_of(module).functions.empty(); }

 private:
  struct Module {
    std::unique_ptr<analysis::ModuleSymbols> symbols;  // null: no file
    std::map<uint64_t, Synchronisation> functions;     // by address in the file
  };
  const Module& module_of(const std::string& path);

  std::map<std::string, Module> modules_;
};

}  // namespace simrun::cli
