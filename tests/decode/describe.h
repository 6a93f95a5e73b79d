// One line of text for a decoded instruction: the expectation tables are written in it.
//
//   <flow> [conditions] ; memory operands ; registers ; flags ; the rest
//
// Memory: kind, size, address, then lanes and mask; e.g. `load8 [rax+rcx*4+0x10]`, `rmw4 lock [rdi]`, `store4 x8 k1
// [rax]`. Registers and flags: r= read, w= written, o= overwritten (`w=o` when both are the same); flags as letters C P
// A Z S O D.
#pragma once

#include <string>

#include "instr/engine/decode/instruction.h"

namespace simrun::engine {

std::string describe(const Instruction& i);

}  // namespace simrun::engine
