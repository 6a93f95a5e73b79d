// What memory the processes of a trace have: names for a model, from what the trace says of mappings, forks and ends
// (docs/shared-memory.md). A trace that says nothing of it gives every process memory of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>

#include "instr/channel/memory_names.h"
#include "traces/reader.h"

namespace simrun::cli {

class TraceMemory {
 public:
  // As it is before the first item of this chunk. Throws traces::TraceError. The trace must outlive this.
  TraceMemory(const traces::Reader& trace, size_t chunk);

  // One event of traces::changes_memory(). Throws traces::FormatError.
  void change(uint32_t process, std::span<const uint64_t> event);
  // Before items of a chunk. Throws traces::FormatError when a process in it has ended.
  void begin_chunk(const traces::Chunk& chunk);
  // Before references of a process.
  void meet(uint32_t process);
  // In an earlier chunk.
  bool has_ended(uint32_t process) const { return forgotten_.contains(process); }

  channel::MemoryNames& names() { return names_; }

 private:
  void start(uint32_t process, bool is_copy);

  const traces::Reader& trace_;
  channel::MemoryNames names_;
  bool any_ = false;          // the trace says where processes start
  std::set<uint32_t> met_;    // while it has not said so
  std::set<uint32_t> ended_;  // still known to names_: until the end of the chunk
  std::set<uint32_t> forgotten_;
  std::optional<uint64_t> chunk_;  // that was begun last, by its first instruction
};

}  // namespace simrun::cli
