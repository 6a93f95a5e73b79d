// The memory references that a decoded instruction claims to make from a given machine state: the meaning of
// MemoryOperand, spelled out.
#pragma once

#include <vector>

#include "instr/engine/decode/instruction.h"
#include "tests/decode/native_machine.h"

namespace simrun::engine {

struct Reference {
  border::OperandKind kind;
  uint64_t address;
  uint64_t bytes;
};

// Address of the operand before lanes and iterations are added. `fs_base`: what kFsBase adds; kGsBase adds 0.
uint64_t operand_address(const MemoryOperand& o, const MachineState& s, uint64_t fs_base);

// In no particular order. An operand of kXsave form yields nothing.
std::vector<Reference> claimed_references(const Instruction& i, const MachineState& s, uint64_t fs_base);

}  // namespace simrun::engine
