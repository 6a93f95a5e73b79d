// How a program is run under the engine: the options that every sub-command which runs one shares.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "instr/host/launch.h"

namespace CLI {
class App;
}

namespace simrun::cli {

// Running processes instead of a program: simrun attach.
struct AttachOptions {
  std::vector<int> processes;  // process ids; empty: a program is launched
  double seconds = 0;          // then detach; 0: no limit
  uint64_t instructions = 0;   // likewise, of all threads together; some more are seen
};

struct ProgramOptions {
  std::vector<std::string> command;
  AttachOptions attach;
  bool quiet = false;               // no progress line, no report
  uint64_t quantum = 1000;          // instructions
  uint64_t time_slice = 1'000'000;  // instructions
  bool discard = false;             // the stream is thrown away unread
  bool recorded_order = false;      // by ProgressSampler instead of virtual time
  const char* order() const { return recorded_order ? "recorded" : "virtual"; }
  std::vector<uint32_t> pins;  // see channel::MergeOptions
  // What the launcher is told.
  bool aslr = false;
  std::string follow_children = "*";  // see host::LaunchOptions
  bool wait_for_children = false;
  uint64_t ring_bytes = 1u << 20;  // per thread; measured: smaller ones cost wake-ups, larger ones gain little
  uint64_t code_cache_bytes = 64u << 20;
  uint32_t described_superblocks = host::kMostDescribed;
  uint32_t max_superblock_instructions = 64;
  bool link_superblocks = true;
  bool elide_words = true;
  bool unroll_loops = true;
  bool base_instructions = true;
  uint32_t force_safe_points = 0;
  uint32_t protect_code_after = 1u << 18;
  bool watch_calls = false;     // set by sub-commands that want to know of allocations and modules (docs/stream.md)
  std::string engine_log;       // file; "-": standard error; empty: none
  bool perf_map = false;        // docs/diagnosis.md
  bool name_memory = false;     // set by sub-commands that simulate processes together (docs/shared-memory.md)
  bool watch_mappings = false;  // set by sub-commands that want to know which file code is of
  // For the progress line, set by sub-commands that run the program several times.
  std::string stage;                // which run it is; empty: the only one
  uint64_t all_instructions = 0;    // of the whole run; 0: not known
};

// Adds them to `app`, with their checks; `options` must outlive it.
void add_program_options(CLI::App& app, ProgramOptions& options);

// --order and --pin, of sub-commands that simulate a machine.
void add_order_options(CLI::App& app, ProgramOptions& options);
// Throws UserError with exit status 2 when a thread is pinned to a core that the machine does not have.
void check_pins(const ProgramOptions& options, uint32_t cores);

// Chunks of a ring of `ring_bytes`: a power of two of bytes such that there are 8 of them, or as many as the smallest
// chunk allows.
uint32_t ring_chunk_bytes(uint64_t ring_bytes);
// `ring_bytes` rounded down to whole chunks.
uint64_t whole_chunks(uint64_t ring_bytes);

}  // namespace simrun::cli
