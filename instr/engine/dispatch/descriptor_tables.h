// Appends to the shared tables of descriptors (instr/border/descriptors.h). Under the translation lock.
#pragma once

#include <cstdint>

#include "instr/engine/translate/translator.h"

namespace simrun::engine {

void start_descriptor_tables();
bool descriptor_tables_are_full();

// Id that the first path of the next superblock will have.
uint32_t next_path_id();

// Publishes a superblock with its paths; returns its index in the superblock table.
uint32_t append_descriptors(const DecodedSuperblock& superblock, const TranslationOutput& output);

// Id of the longest path of a superblock.
uint32_t last_path_of(uint32_t superblock);

}  // namespace simrun::engine
