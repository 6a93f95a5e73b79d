// The sections that say what memory processes have: which files an image had mapped when it started, and what changed
// before a chunk, so that a reader who begins there knows it. docs/trace-format.md, "Memory".
#pragma once

#include <map>
#include <span>
#include <vector>

#include "traces/bytes.h"
#include "traces/record.h"

namespace simrun::traces {

using FirstFiles = std::map<uint32_t, std::vector<MappedFile>>;  // by process

Bytes write_memory(const FirstFiles& files, std::span<const MemoryChange> changes);
// Appends to both. Throws FormatError.
void read_memory(ByteReader& from, FirstFiles& files, std::vector<MemoryChange>& changes);

}  // namespace simrun::traces
