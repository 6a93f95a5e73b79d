// All translations: from application addresses to superblocks, the exits that wait to be linked, the table of indirect targets.
// Everything here happens under `translation_lock`, but for `find_code`'s callers' use of the returned address, which is safe while the
// thread's `in_cache` is set (safe_points.h).
#pragma once

#include <cstdint>
#include <mutex>

#include "instr/engine/codecache/code_cache.h"
#include "instr/engine/context/fork_locks.h"
#include "instr/engine/translate/superblock.h"
#include "instr/engine/translate/translator.h"

namespace simrun::engine {

extern CodeCache g_code_cache;
extern EngineLock g_translation_lock;

void start_code_table(const TranslationOptions& options);
// Every entry is written: what the superblocks have there, or that there is nothing yet.
void fill_indirect_table();
// For translations from now on. The caller has stopped the world and drops all others.
void set_mode(border::Mode mode);

// The code of the superblock at `pc`, translated now if need be; 0 when nothing at `pc` can be executed. `indirect`: the table of
// indirect targets is to lead there from now on.
uint64_t code_for(AppAddress pc, bool indirect);
// The same where only so many instructions may run up to the next limit check. With count_paths, when no link passes a check by, that is the
// ordinary code if its superblock is not longer. Else, or if it is:
uint64_t short_code_for(AppAddress pc, bool indirect, uint32_t instructions);
// The first `instructions` at `pc` only (or fewer, where a superblock ends), without a limit check: to reach an exact count.
// What follows is found through the dispatcher, or checks its limit.
uint64_t cut_code_for(AppAddress pc, uint32_t instructions);
// The same for the one instruction at `pc`, and every way out leads to the dispatcher.
uint64_t step_code_for(AppAddress pc);
// The same, for the instruction behind ExitKind::kFpuPointer.
uint64_t alone_code_for(AppAddress pc);

// The facts of an exit, copied: the exit itself may go when the code cache is flushed.
Exit exit_facts(uint32_t exit_id);
// Links the exit to its target's superblock if it exists and the exit is still there (`generation` as of the exit's entry).
void link_exit(uint32_t exit_id, uint64_t generation);

// Counts flushes; part of what a thread must know to use an exit id later.
uint64_t code_generation();

// Drops all translations. The caller has stopped the world.
void drop_translations();
// Makes the translations of application code in [from, to) forward to new ones. The caller has stopped the world.
void invalidate_translations(AppAddress from, AppAddress to);
// True when the range holds translated application code.
bool has_translations(AppAddress from, AppAddress to);
// `uses_reserve`: what is kept for the time when no flush is possible may be used.
bool code_cache_is_full(bool uses_reserve);

// The application's state at a code address: which instruction it is before, and where its registers are.
struct Recovery {
  bool found;
  AppAddress pc;
  GprSet in_spill;
  uint8_t pointer_register; // holds the buffer pointer or, in count mode, the instructions retired; kNoRegister: it is in its slot
  uint32_t last_path;       // path id of the whole superblock, where paths are described
  uint16_t instructions;    // retired in this execution of the superblock
  uint16_t words;           // address words stored
  uint16_t counted;         // count mode: what the pointer has of them already, or too much
  uint16_t moved;           // trace mode: words of this execution that the pointer has passed
  uint16_t blocks;          // count_paths: counters of this superblock that have been raised
  // A trap right behind a repeated string instruction: words that its register's value then was still to be stored in; else kNoWord.
  uint16_t late_words[2];
  uint8_t late_register;
  // Before a repeated string instruction that may have done a part of its iterations: the word with its register's value at their beginning
  // (else kNoWord), that register, bytes of an iteration, and whether addresses are cut to 32 bits.
  uint16_t begun_word;
  uint8_t begun_register, begun_bytes;
  bool begun_narrow;
  uint8_t string_element;   // RecoveryPoint::string_element
  bool whole;               // all instructions retired: a trap behind the last
  uint64_t stale;           // in the comparison of changeable code: where it goes on when the code has changed; else 0
};
Recovery recover(uint64_t code);

// The newest superblock that the code at `pc` was translated into.
struct SuperblockPlace {
  bool found;
  AppAddress pc, end;
  uint32_t instructions;
  uint32_t code, code_end;   // offsets in the code cache
};
SuperblockPlace find_superblock(AppAddress pc);

}  // namespace simrun::engine
