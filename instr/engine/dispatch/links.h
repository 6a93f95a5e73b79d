// Direct exits: which superblock each leads to, or waits for. Exits and superblocks by their places in Translations.
#pragma once

#include <cstdint>

#include "instr/engine/decode/instruction.h"

namespace simrun::engine {

// Leads the exit to the superblock, if it may be linked and is not yet.
void link(uint32_t exit, uint32_t superblock);
// Until there is a superblock at the exit's target.
void wait_for_target(uint32_t exit);

// Links pass the check of their targets by as long as what may have been stored since the last check, the path included, is not more than the
// target's level. So levels rise along such links, none of which closes a circle. A new superblock at `pc` is a little above those that lead to it.
uint16_t level_at(AppAddress pc);

// Of a superblock that is no longer the translation of its address, while the world is stopped:
// - Exits that are linked to it wait for its successor. Along the stubs of forward() they would come by one more with each new translation.
//   Those of superblocks that nobody enters any more stay as they are.
void expect_again(uint32_t superblock);
// - Who enters it all the same arrives at its successor. Its own exits, on which the jumps there may lie, are linked no more.
void forward(uint32_t superblock);

}  // namespace simrun::engine
