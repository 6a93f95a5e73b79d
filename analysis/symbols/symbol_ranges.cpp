#include "analysis/symbols/symbol_ranges.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace simrun::analysis {

namespace {

// Weak names are as good as others: in the C library the standard's are ("puts", of which "_IO_puts" is the strong one).
int rank_of(int binding) { return binding == STB_LOCAL ? 0 : 1; }

// Of the section that a symbol is in; without one, the end of all addresses.
uint64_t section_end(Elf* elf, GElf_Word section, uint64_t bias) {
  GElf_Shdr header;
  Elf_Scn* const at = elf == nullptr || section >= SHN_LORESERVE ? nullptr : elf_getscn(elf, section);
  return at == nullptr || gelf_getshdr(at, &header) == nullptr ? ~uint64_t{0} : header.sh_addr + header.sh_size + bias;
}

}  // namespace

SymbolRanges::SymbolRanges(Dwfl_Module* module, std::initializer_list<int> types) {
  const int count = dwfl_module_getsymtab(module);
  for (int k = 0; k < count; ++k) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    GElf_Word section = 0;
    Elf* elf = nullptr;
    Dwarf_Addr bias = 0;
    const char* name = dwfl_module_getsym_info(module, k, &symbol, &address, &section, &elf, &bias);
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (name == nullptr || section == SHN_UNDEF || std::find(types.begin(), types.end(), type) == types.end()) continue;
    if (symbol.st_size == 0 && type == STT_OBJECT) continue;
    const uint64_t limit = symbol.st_size != 0 ? 0 : section_end(elf, section, bias);
    entries_.push_back({{address, address + symbol.st_size, name}, rank_of(GELF_ST_BIND(symbol.st_info)), limit, 0});
  }
  put_in_order();
}

void SymbolRanges::add(std::vector<Range> ranges) {
  for (Range& range : ranges) entries_.push_back({std::move(range), rank_of(STB_LOCAL), 0, 0});
  put_in_order();
}

void SymbolRanges::put_in_order() {
  const auto order = [](const Entry& e) {
    const auto underscores = static_cast<int>(std::min(e.range.name.find_first_not_of('_'), e.range.name.size()));
    return std::tuple(e.range.start, e.binding, -underscores, -static_cast<int>(e.range.name.size()));
  };
  std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
    const auto of_a = order(a), of_b = order(b);
    return of_a != of_b ? of_a < of_b : a.range.name > b.range.name;
  });
  constexpr uint64_t kMostWithoutSize = 4096;
  uint64_t next = ~uint64_t{0}, start = ~uint64_t{0};  // of the symbol behind, of the last one
  for (auto e = entries_.rbegin(); e != entries_.rend(); ++e) {
    if (e->range.start != start) next = std::exchange(start, e->range.start);
    if (e->range.end == e->range.start && e->limit > start) e->range.end = std::min({next, start + kMostWithoutSize, e->limit});
  }
  uint64_t furthest = 0;
  for (Entry& e : entries_) e.furthest = furthest = std::max(furthest, e.range.end);
}

const SymbolRanges::Range* SymbolRanges::at(uint64_t address) const {
  auto behind = std::upper_bound(entries_.begin(), entries_.end(), address, [](uint64_t a, const Entry& e) { return a < e.range.start; });
  for (; behind != entries_.begin() && std::prev(behind)->furthest > address; --behind)
    if (std::prev(behind)->range.end > address) return &std::prev(behind)->range;
  return nullptr;
}

}  // namespace simrun::analysis
