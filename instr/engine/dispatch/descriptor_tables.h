// Appends to the shared tables of descriptors (instr/border/descriptors.h). Under the translation lock.
#pragma once

#include <cstdint>

#include "instr/engine/translate/translator.h"

namespace simrun::engine {

void start_descriptor_tables();
bool descriptor_tables_are_full();

// Whether they are nearly full and may begin anew: nobody counts executions by path, and whoever reads the stream can forget what ids mean.
bool descriptor_tables_want_renewal();

// Begins them anew, and gives their memory back. The world is stopped, there are no translations, nobody is going to read what they say.
void renew_descriptor_tables();

// Id that the first path of the next superblock will have.
uint32_t next_path_id();

// Descriptors of the same code at the same address: from before a flush, or of code that is generated again and again. What is described
// already is not described a second time.
struct KnownDescriptors {
  uint32_t superblock = ~0u;
  uint32_t first_path = 0;
  bool exist() const { return superblock != ~0u; }
};
KnownDescriptors find_descriptors(const DecodedSuperblock& superblock);

// Whether they describe this translation too: it may differ though the code is the same, by what else the translator looks at.
bool describe(KnownDescriptors known, const DecodedSuperblock& superblock, const TranslationOutput& output);

// Publishes a superblock with its paths; returns its index in the superblock table.
uint32_t append_descriptors(const DecodedSuperblock& superblock, const TranslationOutput& output);

// Id of the longest path of a superblock.
uint32_t last_path_of(uint32_t superblock);

}  // namespace simrun::engine
