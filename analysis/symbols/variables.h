// Variables with static storage in the debug information of one module, and what lies at an offset of their types.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "analysis/symbols/module_symbols.h"

namespace simrun::analysis {

class Variables {
 public:
  // Walks through all units once. `module` must outlive this.
  explicit Variables(Dwfl_Module* module);

  std::optional<VariablePlace> at_address(uint64_t address) const { return at(by_address_, address); }
  std::optional<VariablePlace> at_thread_local_offset(uint64_t offset) const { return at(by_thread_local_, offset); }

 private:
  struct Variable {
    Dwarf_Die die;
    std::string scope;  // "namespace::", "function()::", of Fortran "module::" or "common_block::"
    uint64_t size;
  };
  using Table = std::map<uint64_t, Variable>;

  void walk(Dwarf_Die* parent, const std::string& scope, Dwarf_Addr bias);
  void add(Dwarf_Die* die, const std::string& scope, Dwarf_Addr bias);
  static std::optional<VariablePlace> at(const Table& table, uint64_t address);

  Table by_address_, by_thread_local_;
};

}  // namespace simrun::analysis
