// Starts a program under the engine. One call does everything from the search in PATH to the moment when the private loader
// begins to load the engine inside the target; from then on the target is an ordinary child of this process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "instr/border/mapped_file.h"
#include "instr/border/shared_memory.h"
#include "instr/host/local_mapping.h"

namespace simrun::host {

inline constexpr uint32_t kFewestDescribed = 16384, kMostDescribed = 4u << 20;

struct LaunchOptions {
  std::vector<std::string> command;   // program and arguments; the program is searched for in PATH as a shell does
  bool aslr = false;                  // false: address-space randomisation is switched off for the target
  border::Mode mode = border::Mode::kTrace;
  uint64_t ring_bytes = 4u << 20;              // per thread: a multiple of ring_chunk_bytes, 2 to kMaxRingChunks chunks
  uint32_t ring_chunk_bytes = 256u << 10;      // power of two, 8 KiB to 1 GiB
  uint64_t code_cache_bytes = 256u << 20;
  uint32_t described_superblocks = kMostDescribed;   // at a time; at least kFewestDescribed
  uint32_t max_superblock_instructions = 64;
  bool link_superblocks = true;
  bool elide_words = true;
  bool unroll_loops = true;
  bool base_instructions = true;      // ProcessHeader::base_instructions, where the kernel has them
  bool live_words = false;            // ProcessHeader::live_words
  uint32_t force_safe_points = 0;
  uint32_t protect_code_after = 0;   // border::ProcessHeader
  bool watch_calls = false;           // ProcessHeader::watch_calls
  bool watch_mappings = false;        // its kMappingChange events only
  bool name_memory = false;           // the same without waiting for the simulator (channel::MemoryNames)
  bool keep_log = false;              // ProcessHeader::log_offset
  bool map_code = false;              // its code_map_offset
  uint64_t count_interval = 0;                 // Mode::kCount: instructions of a thread between its reports; 0: none
  bool drop_streams = false;                   // nobody will read them
  uint64_t count_done = 0;                     // ProcessHeader::count_done
  uint64_t count_interval_threads = 0;         // the same as soon as there has been a second thread or process; 0: count_interval
  bool count_paths = false;                    // Mode::kCount, or what switches to it: how often each path ran is in the reports
  // Mode::kCount: where the process goes on in another mode (border::ModeSwitch); at most border::kMaxModeSwitches.
  std::vector<border::ModeSwitch> mode_switches;
  std::string follow_children = "";   // which programs that the program executes are followed, as fnmatch(3) has it; empty: none
  bool has_company = false;           // ProcessHeader::has_company
  std::string engine_path;            // empty: `simrun-engine` beside the simrun executable or in ../lib/simrun
};

// What launch() made.
struct Launched {
  pid_t pid;
  LocalMapping mapping;
  // What could not be arranged as asked and does not keep the program from running; one line each.
  std::vector<std::string> warnings;
  std::vector<border::MappedFile> files;   // mapped before its first instruction
};

// A process that has just got an engine.
struct TakenOver {
  LocalMapping mapping;
  std::vector<border::MappedFile> files;   // mapped when it was stopped
};

// Throws UserError: exit status 127 when there is no such program, 126 when it cannot be executed (as shells do), 2 for options
// that make no sense, 1 for what the environment refuses.
// The program is a child of this process.
Launched launch(const LaunchOptions& options);

// Puts the engine into process `pid`, which is in its PTRACE_EVENT_EXEC stop and traced by the calling thread, and lets it go. Throws
// UserError; then the process is still stopped and traced, and as it was but for some address space.
// `before`: header of the process, or of its parent, that executed it; null: not known.
TakenOver take_over_image(pid_t pid, const LaunchOptions& options, const border::ProcessHeader* before);

}  // namespace simrun::host
