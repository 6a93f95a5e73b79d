// Starts a program under the engine. One call does everything from the search in PATH to the moment when the private loader
// begins to load the engine inside the target; from then on the target is an ordinary child of this process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "instr/border/shared_memory.h"

namespace simrun::host {

struct LaunchOptions {
  std::vector<std::string> command;   // program and arguments; the program is searched for in PATH as a shell does
  bool aslr = false;                  // false: address-space randomisation is switched off for the target
  border::Mode mode = border::Mode::kTrace;
  uint64_t ring_bytes = 4u << 20;              // per thread: a multiple of ring_chunk_bytes, 2 to kMaxRingChunks chunks
  uint32_t ring_chunk_bytes = 256u << 10;      // power of two, 8 KiB to 1 GiB
  uint64_t code_cache_bytes = 256u << 20;
  uint32_t max_superblock_instructions = 128;
  bool link_superblocks = true;
  bool elide_words = true;
  uint32_t force_safe_points = 0;
  bool watch_calls = false;           // ProcessHeader::watch_calls
  bool watch_mappings = false;        // its kMappingChange events only
  uint64_t count_interval = 0;                 // Mode::kCount: instructions of a thread between its reports; 0: none
  uint64_t count_interval_threads = 0;         // the same as soon as there has been a second thread; 0: count_interval
  bool count_paths = false;                    // Mode::kCount: how often each path ran is in the reports
  std::string engine_path;            // empty: `simrun-engine` beside the simrun executable or in ../lib/simrun
};

// A launched program. The destructor kills it if it still runs (nobody would consume its stream) and unmaps the shared mapping.
class Target {
 public:
  Target(pid_t pid, void* mapping, uint64_t mapping_bytes, std::vector<std::string> warnings);
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  pid_t pid() const { return pid_; }
  void* mapping() const { return mapping_; }
  border::ProcessHeader& header() const { return *static_cast<border::ProcessHeader*>(mapping_); }

  // False once the program has ended; does not block. Not from several threads at once.
  bool running();
  // As waitpid reports it: WIFEXITED, WIFSIGNALED. Only after running() returned false.
  int wait_status() const { return status_; }
  // Sends `signal` to the program if it still runs. Async-signal-safe.
  void forward_signal(int signal);

  // What could not be arranged as asked and does not keep the program from running; one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  pid_t pid_;
  void* mapping_;
  uint64_t mapping_bytes_;
  std::atomic<bool> ended_ = false;
  int status_ = 0;
  std::vector<std::string> warnings_;
};

// Throws UserError: exit status 127 when there is no such program, 126 when it cannot be executed (as shells do), 2 for options
// that make no sense, 1 for what the environment refuses.
std::unique_ptr<Target> launch(const LaunchOptions& options);

}  // namespace simrun::host
