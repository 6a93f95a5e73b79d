// What is known of all translations, for the files that keep it: code_table.cpp (look-ups and translating), links.cpp, indirect_entries.cpp
// and recover.cpp. Under `g_translation_lock`.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "instr/engine/codecache/code_cache.h"
#include "instr/engine/context/process.h"
#include "instr/engine/dispatch/address_map.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/translate/superblock.h"
#include "instr/engine/translate/translator.h"

namespace simrun::engine {

// The verification of an indirect target: where it is executed, and how the jump in front of it names what it leads to.
struct IndirectEntry {
  uint64_t view;
  uint32_t address_at;   // code offset of the address; 0: by its displacement
};

struct Translations {
  explicit Translations(const TranslationOptions& o) : options(o), translator(o) {
    superblocks.reserve(4096), exits.reserve(16384);   // untouched until it is used; growing would touch the same again and copy
  }
  TranslationOptions options;
  Translator translator;
  TranslationOutput output;
  DecodedSuperblock decoded;
  AddressMap by_pc;
  std::unordered_map<uint64_t, uint32_t> cuts;           // cut superblocks by cut_key
  AddressMap waiting;                                    // by target that does not exist yet: the first exit that waits for it
  std::vector<Superblock> superblocks;
  std::vector<Exit> exits;
  std::unordered_map<uint32_t, std::vector<uint8_t>> bytes;   // what changeable superblocks were translated from
  uint64_t generation = 1;
  std::unordered_map<uint32_t, IndirectEntry> indirect_entries;   // by code offset
  uint32_t indirect_targets = 0;                         // that look-ups come to
  std::unordered_map<uint64_t, bool> calling;            // functions: may_call_again
  DecodedSuperblock ahead;
  std::unordered_map<uint64_t, std::vector<uint32_t>> pages;   // application pages with translated code, and the superblocks there
};

extern Translations* g_translations;

inline uint64_t& indirect_place(AppAddress pc) {
  return g_process.indirect_table[indirect_index(pc, g_translations->options.bmi2) & (g_process.indirect_places - 1)];
}

inline Assembler assembler_for(CodeCache::Area area) {
  const uint32_t start = g_code_cache.used(area);
  return Assembler(g_code_cache.write_pointer(start), g_code_cache.address(start));
}

inline uint64_t view_of(const Superblock& superblock) { return g_code_cache.view_for(raw(superblock.pc)); }

// As it is executed.
inline uint64_t code_at(const Superblock& superblock, uint32_t offset) { return g_code_cache.address(offset) + view_of(superblock); }

// What is translated at `pc`. Where threads stop at exact numbers of instructions and links pass checks by, so many as a loop unrolled has
// must not come between two checks (kMostBetweenChecks). With words threads' turns would be longer and their lead over each other larger
// (decision 35).
void form(AppAddress pc, Purpose purpose, uint32_t max_instructions, DecodedSuperblock& decoded);

}  // namespace simrun::engine
