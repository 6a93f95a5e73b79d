// A file in another simulator's format through an importer, and what comes out of it through everything that reads traces.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "traces/import/formats.h"

namespace simrun::traces {

// The first byte of the input chooses the compression: none, gz, xz, zst by its remainder by 4; 254 lz4, 255 zip.
void use_import(ImportNotes (*import)(const std::string&, Writer&), std::span<const uint8_t> input);

}  // namespace simrun::traces
