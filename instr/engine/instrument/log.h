// The engine's log, when simrun keeps one (`--debug-engine`, docs/diagnosis.md): lines in the shared mapping, for
// simrun to read.
#pragma once

#include "instr/engine/context/process.h"

namespace simrun::engine {

inline bool keeps_log() { return g_process.header->log_offset != 0; }

// One line; to be asked keeps_log() first. Neither allocates nor locks. Any time.
void log_line(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace simrun::engine
