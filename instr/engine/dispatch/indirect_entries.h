// The verification in front of an indirect target's superblock, and which of them look-ups come to: each place of the table (indirect_table.h)
// leads to the last that was put there, which leads to the one before it, at last to the miss.
#pragma once

#include <cstdint>

#include "instr/engine/decode/instruction.h"

namespace simrun::engine {

// Emits it; the superblock's code, or a jump there, is to come right behind. Returns its code offset.
uint32_t emit_indirect_entry(AppAddress pc, uint8_t buffer_register);
void enter_indirect_table(AppAddress pc, uint32_t indirect_entry);
// Look-ups come by the superblock's no more, but for those of others along a chain that began before the table grew: otherwise code that is
// translated again and again would be come by as often. While the world is stopped, with room for a jump in the cold area.
void leave_indirect_table(uint32_t superblock);

}  // namespace simrun::engine
