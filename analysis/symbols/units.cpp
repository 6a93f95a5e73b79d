#include "analysis/symbols/units.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

namespace simrun::analysis {

namespace {

bool add_calls(Dwarf_Die* parent, Dwarf_Addr address, std::vector<Dwarf_Die>& calls) {
  Dwarf_Die child;
  if (dwarf_child(parent, &child) != 0) return false;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_namespace:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
        if (add_calls(&child, address, calls)) return true;
        break;
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
        if (dwarf_haspc(&child, address) > 0 && add_calls(&child, address, calls)) return true;
        break;
      case DW_TAG_subprogram:
      case DW_TAG_inlined_subroutine:
        if (dwarf_haspc(&child, address) <= 0) break;
        calls.push_back(child);
        add_calls(&child, address, calls);
        return true;
      default:
        break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

}  // namespace

std::vector<Dwarf_Die> calls_around(Dwarf_Die content, Dwarf_Addr address) {
  std::vector<Dwarf_Die> calls;
  add_calls(&content, address, calls);
  return calls;
}

Dwarf_Die content_of(Dwarf_Die* unit) {
  uint8_t type = 0;
  Dwarf_Die split;
  const bool known = dwarf_cu_info(unit->cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr) == 0;
  return known && type == DW_UT_skeleton && split.addr != nullptr ? split : *unit;
}

std::string file_of(Dwarf_Die* die, unsigned attribute_name) {
  Dwarf_Attribute attribute;
  Dwarf_Word index = 0;
  Dwarf_Die unit;
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_attr_integrate(die, attribute_name, &attribute) == nullptr || dwarf_formudata(&attribute, &index) != 0 ||
      dwarf_cu_die(attribute.cu, &unit, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == nullptr ||
      dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count)
    return "";
  const char* const name = dwarf_filesrc(files, index, nullptr, nullptr);
  return name == nullptr ? "" : name;
}

Units::Units(Dwfl_Module* module) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = nullptr;
  while ((unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr) {
    Dwarf_Addr base = 0, start = 0, end = 0;
    for (ptrdiff_t next = 0; (next = dwarf_ranges(unit, next, &base, &start, &end)) > 0;)
      if (start < end) code_.emplace(start + bias, Code{end + bias, {unit, bias}});
  }
}

const Unit* Units::at(uint64_t address) const {
  auto after = code_.upper_bound(address);
  if (after == code_.begin()) return nullptr;
  const Code& code = (--after)->second;
  return address < code.end ? &code.unit : nullptr;
}

}  // namespace simrun::analysis
