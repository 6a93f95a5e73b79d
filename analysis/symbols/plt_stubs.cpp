#include "analysis/symbols/plt_stubs.h"

#include <gelf.h>

#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace simrun::analysis {

namespace {

using Names = std::map<uint64_t, std::string>;  // by address of the slot, in the file

struct Section {
  Elf_Scn* at;
  GElf_Shdr header;
  std::string_view name;
};

std::vector<Section> sections_of(Elf* elf) {
  std::vector<Section> sections;
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return sections;
  for (Elf_Scn* at = nullptr; (at = elf_nextscn(elf, at)) != nullptr;) {
    Section section{at, {}, {}};
    if (gelf_getshdr(at, &section.header) == nullptr) continue;
    if (const char* name = elf_strptr(elf, names, section.header.sh_name); name != nullptr) section.name = name;
    sections.push_back(section);
  }
  return sections;
}

// The functions that relocations of a section put into slots.
void add_slots(Elf* elf, const Section& section, uint64_t bias, const SymbolRanges& functions, Names& slots) {
  Elf_Scn* const symbol_section = elf_getscn(elf, section.header.sh_link);
  GElf_Shdr symbols_header;
  Elf_Data* const entries = elf_getdata(section.at, nullptr);
  if (entries == nullptr || section.header.sh_entsize == 0) return;
  const bool has_symbols = symbol_section != nullptr && gelf_getshdr(symbol_section, &symbols_header) != nullptr;
  Elf_Data* const symbols = has_symbols ? elf_getdata(symbol_section, nullptr) : nullptr;
  const size_t count = section.header.sh_size / section.header.sh_entsize;
  for (size_t k = 0; k < count; ++k) {
    GElf_Rela entry;
    GElf_Sym symbol;
    if (gelf_getrela(entries, static_cast<int>(k), &entry) == nullptr) continue;
    const auto type = GELF_R_TYPE(entry.r_info);
    const char* name = nullptr;
    if (type == R_X86_64_IRELATIVE) {
      const SymbolRanges::Range* const own = functions.at(static_cast<uint64_t>(entry.r_addend) + bias);
      if (own != nullptr && own->start == static_cast<uint64_t>(entry.r_addend) + bias) name = own->name.c_str();
    } else if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) && symbols != nullptr &&
               gelf_getsym(symbols, static_cast<int>(GELF_R_SYM(entry.r_info)), &symbol) != nullptr) {
      name = elf_strptr(elf, symbols_header.sh_link, symbol.st_name);
    }
    if (name != nullptr && *name != 0) slots.emplace(entry.r_offset, name);
  }
}

// `jmp *slot(%rip)`, behind `endbr64` and with a `bnd` prefix where the linker wants them.
std::optional<uint64_t> slot_of(std::span<const uint8_t> code, uint64_t address) {
  constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  size_t at = code.size() >= 4 && std::memcmp(code.data(), kEndbr64, 4) == 0 ? 4 : 0;
  if (at < code.size() && code[at] == 0xf2) ++at;
  if (at + 6 > code.size() || code[at] != 0xff || code[at + 1] != 0x25) return std::nullopt;
  int32_t displacement = 0;
  std::memcpy(&displacement, &code[at + 2], sizeof displacement);
  return address + at + 6 + static_cast<uint64_t>(int64_t{displacement});
}

void add_stubs(const Section& section, uint64_t bias, const Names& slots, std::vector<SymbolRanges::Range>& stubs) {
  constexpr uint64_t kUsual = 16;
  const uint64_t bytes = section.header.sh_entsize >= 8 ? section.header.sh_entsize : kUsual;
  const Elf_Data* const data = elf_getdata(section.at, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return;
  const std::span code(static_cast<const uint8_t*>(data->d_buf), data->d_size);
  for (uint64_t at = 0; at + bytes <= code.size(); at += bytes) {
    const uint64_t address = section.header.sh_addr + at;
    const auto slot = slot_of(code.subspan(at, bytes), address);
    if (!slot) continue;
    if (const auto known = slots.find(*slot); known != slots.end())
      stubs.push_back({address + bias, address + bias + bytes, known->second + "@plt"});
  }
}

}  // namespace

std::vector<SymbolRanges::Range> plt_stubs(Dwfl_Module* module, const SymbolRanges& functions) {
  std::vector<SymbolRanges::Range> stubs;
  GElf_Addr bias = 0;
  Elf* const elf = dwfl_module_getelf(module, &bias);
  if (elf == nullptr) return stubs;
  const std::vector<Section> sections = sections_of(elf);
  Names slots;
  for (const Section& section : sections)
    if (section.header.sh_type == SHT_RELA && (section.header.sh_flags & SHF_ALLOC) != 0) add_slots(elf, section, bias, functions, slots);
  for (const Section& section : sections)
    if (section.header.sh_type == SHT_PROGBITS && (section.name == ".plt" || section.name.starts_with(".plt."))) add_stubs(section, bias, slots, stubs);
  return stubs;
}

}  // namespace simrun::analysis
