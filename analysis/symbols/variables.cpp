#include "analysis/symbols/variables.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "analysis/symbols/units.h"

namespace simrun::analysis {

namespace {

std::string own_name(Dwarf_Die* die) {
  const char* name = dwarf_diename(die);
  return name == nullptr ? "" : name;
}

std::string linkage_name(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  const char* const name = dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) == nullptr ? nullptr : dwarf_formstring(&attribute);
  return name == nullptr ? "" : name;
}

std::optional<uint64_t> number(Dwarf_Die* die, unsigned attribute_name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(die, attribute_name, &attribute) == nullptr) return std::nullopt;
  if (dwarf_formudata(&attribute, &value) != 0) return std::nullopt;
  return value;
}

// Its type without typedefs and qualifiers. False: it has none.
bool type_of(Dwarf_Die* die, Dwarf_Die* type) {
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(die, DW_AT_type, &attribute) == nullptr) return false;
  Dwarf_Die direct;
  if (dwarf_formref_die(&attribute, &direct) == nullptr) return false;
  if (dwarf_peel_type(&direct, type) != 0) return false;
  // A declaration whose definition is in another unit has no size, and nothing more can be said; one in a type unit
  // (-fdebug-types-section) tells which.
  if (dwarf_attr(type, DW_AT_signature, &attribute) != nullptr) dwarf_formref_die(&attribute, type);
  return true;
}

uint64_t size_of(Dwarf_Die* type) {
  Dwarf_Word size = 0;
  return dwarf_aggregate_size(type, &size) == 0 ? size : 0;
}

// A step from an aggregate to a part of it.
struct Part {
  std::string name;  // "[3]", ".hits"; empty for a base class
  Dwarf_Die type;
  uint64_t offset;  // of the part in the whole
  uint64_t size;
};

struct Dimension {
  int64_t lowest;
  uint64_t count;  // 0: unknown
};

std::vector<Dimension> dimensions_of(Dwarf_Die* array, int language) {
  std::vector<Dimension> dimensions;
  Dwarf_Sword usual = 0;
  dwarf_default_lower_bound(language, &usual);
  Dwarf_Die child;
  if (dwarf_child(array, &child) != 0) return dimensions;
  do {
    if (dwarf_tag(&child) != DW_TAG_subrange_type) continue;
    const auto lowest = static_cast<int64_t>(number(&child, DW_AT_lower_bound).value_or(static_cast<uint64_t>(usual)));
    if (const auto count = number(&child, DW_AT_count))
      dimensions.push_back({lowest, *count});
    else if (const auto upper = number(&child, DW_AT_upper_bound))
      dimensions.push_back({lowest, *upper - static_cast<uint64_t>(lowest) + 1});
    else
      dimensions.push_back({lowest, 0});
  } while (dwarf_siblingof(&child, &child) == 0);
  return dimensions;
}

bool is_fortran(int language) {
  return language == DW_LANG_Fortran77 || language == DW_LANG_Fortran90 || language == DW_LANG_Fortran95 || language == DW_LANG_Fortran03 ||
         language == DW_LANG_Fortran08;
}

int language_of(Dwarf_Die* die) {
  Dwarf_Die unit;
  return dwarf_diecu(die, &unit, nullptr, nullptr) == nullptr ? 0 : dwarf_srclang(&unit);
}

// Indices of `offset` bytes into an array of one or more dimensions, as the program counts them.
std::optional<Part> element_at(Dwarf_Die* array, uint64_t offset) {
  Part part;
  if (!type_of(array, &part.type)) return std::nullopt;
  part.size = size_of(&part.type);
  if (part.size == 0) return std::nullopt;
  const int language = language_of(array);
  const bool first_is_fastest = is_fortran(language);
  std::vector<Dimension> dimensions = dimensions_of(array, language);
  if (dimensions.empty()) dimensions.push_back({0, 0});
  if (first_is_fastest) std::reverse(dimensions.begin(), dimensions.end());
  uint64_t index = offset / part.size;
  part.offset = index * part.size;
  for (size_t k = dimensions.size(); k-- > 0;) {
    const auto [lowest, count] = dimensions[k];
    if (k != 0 && count == 0) return std::nullopt;
    const std::string text = fmt::format("[{}]", lowest + static_cast<int64_t>(k == 0 ? index : index % count));
    part.name = first_is_fastest ? part.name + text : text + part.name;
    if (k != 0) index /= count;
  }
  return part;
}

std::optional<Part> member_at(Dwarf_Die* structure, uint64_t offset) {
  Dwarf_Die child;
  if (dwarf_child(structure, &child) != 0) return std::nullopt;
  do {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_member && tag != DW_TAG_inheritance) continue;
    if (number(&child, DW_AT_data_bit_offset)) continue;  // bit fields: the whole is named
    Part part;
    part.offset = number(&child, DW_AT_data_member_location).value_or(0);
    if (dwarf_hasattr_integrate(&child, DW_AT_external) || !type_of(&child, &part.type)) continue;
    part.size = size_of(&part.type);
    if (offset < part.offset || offset >= part.offset + part.size) continue;
    const std::string name = own_name(&child);
    part.name = tag == DW_TAG_inheritance || name.empty() ? "" : "." + name;
    return part;
  } while (dwarf_siblingof(&child, &child) == 0);
  return std::nullopt;
}

std::optional<Part> part_at(Dwarf_Die* type, uint64_t offset) {
  switch (dwarf_tag(type)) {
    case DW_TAG_array_type:
      return element_at(type, offset);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
      return member_at(type, offset);
    default:
      return std::nullopt;
  }
}

// What a library made for itself says nothing to its user: "counter", not "counter._M_i".
bool is_internal(const std::string& member) { return member.starts_with("._M_") || member.starts_with(".__"); }

void describe_member(Dwarf_Die type, VariablePlace& place) {
  constexpr int kMostSteps = 32;
  place.member_size = place.size;
  uint64_t offset = place.offset;
  for (int k = 0; k < kMostSteps; ++k) {
    const bool array = dwarf_tag(&type) == DW_TAG_array_type;
    const auto part = part_at(&type, offset);
    if (!part || is_internal(part->name)) return;
    place.member += part->name;
    place.member_offset += part->offset;
    place.member_size = part->size;
    if (array && place.element_size == 0) place.element_size = part->size;
    offset -= part->offset;
    type = part->type;
  }
}

// What an operation of a location pushes: its operand, or what that is an index of in .debug_addr.
std::optional<uint64_t> operand(Dwarf_Attribute* location, const Dwarf_Op& operation) {
  const uint8_t kind = operation.atom;
  const bool is_address = kind == DW_OP_addrx || kind == DW_OP_GNU_addr_index;
  if (!is_address && kind != DW_OP_constx && kind != DW_OP_GNU_const_index) return operation.number;
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_getlocation_attr(location, &operation, &attribute) != 0) return std::nullopt;
  if ((is_address ? dwarf_formaddr : dwarf_formudata)(&attribute, &value) != 0) return std::nullopt;
  return value;
}

// The namespaces and classes around the declaration that a definition outside of them refers to.
std::string scope_of_declaration(Dwarf_Die* definition) {
  Dwarf_Attribute attribute;
  Dwarf_Die declaration, *scopes = nullptr;
  if (dwarf_attr(definition, DW_AT_specification, &attribute) == nullptr ||
      dwarf_formref_die(&attribute, &declaration) == nullptr)
    return "";
  std::string scope;
  const int count = dwarf_getscopes_die(&declaration, &scopes);
  for (int k = 1; k < count; ++k) {
    const int tag = dwarf_tag(&scopes[k]);
    const std::string name = own_name(&scopes[k]);
    const bool names = tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
    if (names && !name.empty()) scope = name + "::" + scope;
  }
  std::free(scopes);
  return scope;
}

// Of one that was inlined wherever it was called clang leaves neither name nor linkage name (kNameless).
constexpr const char* kNameless = "?()::";
std::string scope_of_function(Dwarf_Die* function, const std::string& around) {
  if (const std::string name = own_name(function); !name.empty()) return around + name + "()::";
  const std::string linkage = linkage_name(function);
  return linkage.empty() ? around + kNameless : demangle(linkage) + "::";
}

}  // namespace

Variables::Variables(Dwfl_Module* module) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = nullptr;
  while ((unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr) {
    Dwarf_Die content = content_of(unit);
    walk(&content, "", bias);
  }
}

void Variables::walk(Dwarf_Die* parent, const std::string& scope, Dwarf_Addr bias) {
  Dwarf_Die child;
  if (dwarf_child(parent, &child) != 0) return;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_variable:
        add(&child, scope, bias);
        break;
      case DW_TAG_module:  // of Fortran
      case DW_TAG_namespace: {
        const std::string name = own_name(&child);
        walk(&child, name.empty() ? scope : scope + name + "::", bias);
        break;
      }
      case DW_TAG_subprogram:
        walk(&child, scope_of_function(&child, scope), bias);
        break;
      case DW_TAG_common_block:  // one for all functions that declare it
        walk(&child, own_name(&child) + "::", bias);
        break;
      case DW_TAG_lexical_block:
        walk(&child, scope, bias);
        break;
      default:
        break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

void Variables::add(Dwarf_Die* die, const std::string& scope, Dwarf_Addr bias) {
  Dwarf_Attribute attribute;
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (dwarf_attr(die, DW_AT_location, &attribute) == nullptr) return;
  // Go has a block where DWARF 4 wants an expression, and libdw refuses it. Up to 127 bytes they are written alike.
  if (attribute.form == DW_FORM_block1 && *attribute.valp < 128) attribute.form = DW_FORM_exprloc;
  if (dwarf_getlocation(&attribute, &operations, &count) != 0 || count == 0) return;
  Dwarf_Die type;
  const uint64_t size = type_of(die, &type) ? size_of(&type) : 0;
  const Variable variable{*die, scope, size};
  const uint8_t first = operations[0].atom, last = operations[count - 1].atom;
  const auto value = operand(&attribute, operations[0]);
  if (!value) return;
  if (count == 1 && (first == DW_OP_addr || first == DW_OP_addrx || first == DW_OP_GNU_addr_index))
    by_address_.emplace(*value + bias, variable);
  else if (count == 2 && (last == DW_OP_GNU_push_tls_address || last == DW_OP_form_tls_address))
    by_thread_local_.emplace(*value, variable);
}

std::optional<VariablePlace> Variables::at(const Table& table, uint64_t address) {
  auto after = table.upper_bound(address);
  if (after == table.begin()) return std::nullopt;
  const auto& [start, variable] = *--after;
  if (address - start >= variable.size) return std::nullopt;
  Dwarf_Die die = variable.die, type;
  VariablePlace place;
  // The linkage name knows namespaces and classes that a definition outside of them does not stand in. (That of Fortran, __module_MOD_name, is no
  // mangled one.)
  const std::string linkage = linkage_name(&die), known = demangle(linkage);
  place.name = known != linkage ? known : variable.scope + scope_of_declaration(&die) + own_name(&die);
  place.in_nameless_function = known == linkage && variable.scope.find(kNameless) != std::string::npos;
  place.offset = address - start;
  place.size = variable.size;
  // A definition outside its class or namespace leaves file and line to the declaration unless it has its own.
  place.file = file_of(&die, DW_AT_decl_file);
  int line = 0;
  if (dwarf_decl_line(&die, &line) == 0) place.line = static_cast<uint32_t>(line);
  if (type_of(&die, &type)) describe_member(type, place);
  return place;
}

}  // namespace simrun::analysis
