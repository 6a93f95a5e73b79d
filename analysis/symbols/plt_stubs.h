// The procedure linkage table of one module: short jumps through a slot that the dynamic loader fills, one for each function of other modules that is
// called. No symbol table has them; they are named as disassemblers do: "strtol@plt".
#pragma once

#include <elfutils/libdwfl.h>

#include <vector>

#include "analysis/symbols/symbol_ranges.h"

namespace simrun::analysis {

// Those whose jump goes through a slot with a relocation. `functions`: of the module itself, which a slot may be for as well (IRELATIVE).
std::vector<SymbolRanges::Range> plt_stubs(Dwfl_Module* module, const SymbolRanges& functions);

}  // namespace simrun::analysis
