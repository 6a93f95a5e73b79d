#include "analysis/symbols/module_symbols.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#define HAVE_DECL_BASENAME 1  // libiberty declares its own otherwise
#include <libiberty/demangle.h>

#include "analysis/symbols/plt_stubs.h"
#include "analysis/symbols/symbol_ranges.h"
#include "analysis/symbols/units.h"
#include "analysis/symbols/variables.h"

namespace simrun::analysis {

namespace {

// libdw looks for separate files where Debian, Fedora and others put them: beside the file, in .debug, in
// /usr/lib/debug.
char* debug_path = nullptr;
const Dwfl_Callbacks kCallbacks = {.find_elf = dwfl_build_id_find_elf,
                                   .find_debuginfo = dwfl_standard_find_debuginfo,
                                   .section_address = dwfl_offline_section_address,
                                   .debuginfo_path = &debug_path};

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

std::string hexadecimal(const unsigned char* bytes, int count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

constexpr std::string_view kStub = "@plt";

// Symbols of several versions have them in their names where debug information is apart: pthread_barrier_wait@@GLIBC_2.34.
std::string_view without_version(std::string_view name) { return name.substr(0, name.find('@')); }

// The name that a programmer gave; the linkage name has the namespaces and arguments.
std::string name_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  const char* linkage = nullptr;
  if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) != nullptr) linkage = dwarf_formstring(&attribute);
  if (linkage != nullptr) return demangle(linkage);
  return text_or_empty(dwarf_diename(die));
}

// Where an inlined call stands in its caller.
void set_call_site(Dwarf_Die* inlined, SourceFrame& caller) {
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0;
  if (dwarf_attr(inlined, DW_AT_call_line, &attribute) != nullptr && dwarf_formudata(&attribute, &line) == 0)
    caller.line = static_cast<uint32_t>(line);
  if (std::string file = file_of(inlined, DW_AT_call_file); !file.empty()) caller.file = std::move(file);
}

}  // namespace

struct ModuleSymbols::Implementation {
  Dwfl* dwfl = nullptr;
  Dwfl_Module* module = nullptr;
  struct Segment {
    uint64_t offset, bytes, address;
    bool executable;
  };
  std::vector<Segment> segments;
  std::unique_ptr<SymbolRanges> functions, objects;  // made when first asked, as all below
  std::unique_ptr<Units> units;
  std::unique_ptr<Variables> variables;

  ~Implementation() {
    variables.reset();
    if (dwfl != nullptr) dwfl_end(dwfl);
  }
  const Unit* unit_at(uint64_t address) {
    if (!units) units = std::make_unique<Units>(module);
    return units->at(address);
  }
  const SymbolRanges& all_objects() {
    if (!objects) objects = std::make_unique<SymbolRanges>(module, std::initializer_list<int>{STT_OBJECT});
    return *objects;
  }
  const SymbolRanges& all_functions() {
    if (functions) return *functions;
    functions = std::make_unique<SymbolRanges>(module, std::initializer_list<int>{STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE});
    functions->add(plt_stubs(module, *functions));
    return *functions;
  }
  Variables& all_variables() {
    if (!variables) variables = std::make_unique<Variables>(module);
    return *variables;
  }
};

ModuleSymbols::ModuleSymbols(std::string path) : path_(std::move(path)), implementation_(new Implementation) {
  Implementation& i = *implementation_;
  i.dwfl = dwfl_begin(&kCallbacks);
  if (i.dwfl == nullptr) {
    problem_ = dwfl_errmsg(-1);
    return;
  }
  dwfl_report_begin(i.dwfl);
  i.module = dwfl_report_elf(i.dwfl, path_.c_str(), path_.c_str(), -1, 0, true);
  if (i.module == nullptr) problem_ = dwfl_errmsg(-1);
  dwfl_report_end(i.dwfl, nullptr, nullptr);
  GElf_Addr bias = 0;
  Elf* elf = i.module != nullptr ? dwfl_module_getelf(i.module, &bias) : nullptr;
  if (elf == nullptr) {
    if (problem_.empty()) problem_ = "not an ELF file";
    return;
  }
  const unsigned char* id = nullptr;
  GElf_Addr where = 0;
  const int id_bytes = dwfl_module_build_id(i.module, &id, &where);
  if (id_bytes > 0) build_id_ = hexadecimal(id, id_bytes);
  size_t headers = 0;
  elf_getphdrnum(elf, &headers);
  for (size_t k = 0; k < headers; ++k) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(k), &header) == nullptr) continue;
    if (header.p_type == PT_LOAD) {
      i.segments.push_back({header.p_offset, header.p_filesz, header.p_vaddr, (header.p_flags & PF_X) != 0});
      end_address_ = std::max(end_address_, header.p_vaddr + header.p_memsz);
    }
    if (header.p_type == PT_TLS && header.p_align != 0)
      thread_local_bytes_ = (header.p_memsz + header.p_align - 1) / header.p_align * header.p_align;
  }
}

ModuleSymbols::~ModuleSymbols() = default;

std::optional<uint64_t> ModuleSymbols::address_of_offset(uint64_t offset) const {
  // Mappings start at page boundaries, somewhat before the segment does. Other segments may lie in the same page of the
  // file (lld).
  constexpr uint64_t kPage = 4096;
  for (const auto& s : implementation_->segments)
    if (s.executable && offset >= s.offset / kPage * kPage && offset < s.offset + std::max<uint64_t>(s.bytes, 1))
      return s.address + offset - s.offset;
  return std::nullopt;
}

std::vector<FunctionSymbol> ModuleSymbols::functions(const std::vector<std::string>& names) {
  std::vector<FunctionSymbol> found;
  if (!problem_.empty()) return found;
  const int count = dwfl_module_getsymtab(implementation_->module);
  for (int k = 1; k < count; ++k) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = 0;
    const char* name =
        dwfl_module_getsym_info(implementation_->module, k, &symbol, &address, &section, nullptr, nullptr);
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (name == nullptr || section == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
      continue;
    const std::string_view plain = without_version(name);
    if (std::find(names.begin(), names.end(), plain) != names.end()) found.push_back({std::string(plain), address});
  }
  return found;
}

std::vector<SourceFrame> ModuleSymbols::frames(uint64_t address) {
  if (!problem_.empty()) return {};
  // The linker leaves debug information of functions that it dropped at addresses around 0.
  const auto& segments = implementation_->segments;
  const bool is_code = std::any_of(segments.begin(), segments.end(), [&](const auto& s) {
    return s.executable && address >= s.address && address - s.address < s.bytes;
  });
  if (!is_code) return {};
  SourceFrame innermost;
  const Unit* unit = implementation_->unit_at(address);
  if (Dwarf_Line* line = unit == nullptr ? nullptr : dwarf_getsrc_die(unit->die, address - unit->bias)) {
    int number = 0;
    dwarf_lineno(line, &number);
    if (number != 0) innermost.file = text_or_empty(dwarf_linesrc(line, nullptr, nullptr));   // 0: of no line (DWARF 5, 6.2.2)
    innermost.line = static_cast<uint32_t>(number);
  }
  std::vector<SourceFrame> frames;
  std::vector<Dwarf_Die> calls;
  if (unit != nullptr) calls = calls_around(content_of(unit->die), address - unit->bias);
  SourceFrame next = innermost;
  for (; !calls.empty(); calls.pop_back()) {
    next.function = name_of(&calls.back());
    frames.push_back(next);
    set_call_site(&calls.back(), next);
  }
  if (!frames.empty()) return frames;
  const SymbolRanges::Range* const symbol = implementation_->all_functions().at(address);
  if (symbol == nullptr && innermost.file.empty()) return {};
  innermost.function = symbol == nullptr ? "" : demangle(symbol->name);
  return {innermost};
}

std::optional<LinkedFunction> ModuleSymbols::function(uint64_t address) {
  if (!problem_.empty()) return std::nullopt;
  const SymbolRanges::Range* const range = implementation_->all_functions().at(address);
  if (range == nullptr) return std::nullopt;
  return LinkedFunction{demangle(range->name), range->end};
}

std::optional<VariablePlace> ModuleSymbols::variable(uint64_t address) {
  if (!problem_.empty()) return std::nullopt;
  auto known = implementation_->all_variables().at_address(address);
  if (known && !known->in_nameless_function) return known;
  const SymbolRanges::Range* const range = implementation_->all_objects().at(address);
  if (known && range != nullptr && range->start == address - known->offset) known->name = demangle(range->name);
  if (known || range == nullptr) return known;
  VariablePlace place;
  place.name = demangle(range->name);
  place.offset = address - range->start;
  place.size = range->end - range->start;
  return place;
}

std::optional<VariablePlace> ModuleSymbols::thread_local_variable(uint64_t offset) {
  if (!problem_.empty()) return std::nullopt;
  return implementation_->all_variables().at_thread_local_offset(offset);
}

std::string demangle(const std::string& symbol) {
  if (symbol.ends_with(kStub)) return demangle(symbol.substr(0, symbol.size() - kStub.size())) += kStub;
  const std::string name(without_version(symbol));
  if (!name.starts_with("_Z") && !name.starts_with("_R")) return name;
  int status = 0;
  char* text = rust_demangle(name.c_str(), 0);  // null: not one of Rust, whose older names begin as those of C++
  if (text == nullptr) text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = text != nullptr ? text : name;
  std::free(text);
  return result;
}

}  // namespace simrun::analysis
