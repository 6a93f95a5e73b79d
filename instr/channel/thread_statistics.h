// What is counted of a stream, per thread.
#pragma once

#include <cstdint>

#include "instr/channel/reference.h"

namespace simrun::channel {

// Definitions: docs/stream.md. A read-modify-write counts as one load and one store; prefetches and flushes are
// neither. A repeated string instruction is one instruction; each of its iterations makes its references.
struct ThreadStatistics {
  uint64_t instructions = 0;
  uint64_t loads = 0;
  uint64_t stores = 0;
  uint64_t prefetches = 0;
  uint64_t flushes = 0;
  uint64_t fetch_lines = 0;  // runs of instructions on one line
  uint64_t paths = 0;        // executions of superblocks
  uint64_t string_iterations = 0;
  uint64_t syscalls = 0;
  uint64_t signals = 0;
  uint64_t cuts = 0;             // superblocks cut short by a fault
  uint64_t words = 0;            // of the stream, 8 bytes each
  uint64_t stalls = 0;           // times it was set aside because it made no progress
  uint64_t truncated_words = 0;  // read but not understood when the process died amid a path

  ThreadStatistics& operator+=(const ThreadStatistics& o);
};

inline void count_reference(ThreadStatistics& to, ReferenceKind kind, uint64_t times = 1) {
  switch (kind) {
    case ReferenceKind::kFetch:
      to.fetch_lines += times;
      break;
    case ReferenceKind::kLoad:
    case ReferenceKind::kNonTemporalLoad:
      to.loads += times;
      break;
    case ReferenceKind::kStore:
    case ReferenceKind::kNonTemporalStore:
      to.stores += times;
      break;
    case ReferenceKind::kReadModifyWrite:
      to.loads += times, to.stores += times;
      break;
    case ReferenceKind::kPrefetch:
      to.prefetches += times;
      break;
    case ReferenceKind::kFlush:
      to.flushes += times;
      break;
  }
}

// A simulated core.
struct CoreReport {
  uint64_t instructions = 0;
  uint64_t switches = 0;  // times another thread than before got it
};

// A thread, once known. Times are virtual: retired instructions.
struct ThreadReport {
  uint32_t index = 0;    // in order of creation in virtual time, from 0
  uint32_t process = 0;  // in the order in which they were added
  uint32_t slot = 0;
  uint32_t tid = 0;
  uint64_t start_clock = 0;
  uint64_t end_clock = 0;
  uint32_t ended_before = ~uint32_t{0};  // index of the thread that came next when this one had ended
  uint32_t core = 0;        // where it ran last; without MergeOptions::cores: `index`
  uint64_t migrations = 0;  // times it went on on another core than before
  bool ended = false;       // its stream is complete (kThreadEnd was read)
  bool cut_off = false;     // its process died while it ran: what it did since it last left the code cache is missing
  ThreadStatistics statistics;
};

}  // namespace simrun::channel
