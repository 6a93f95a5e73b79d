// The command line of simrun, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace simrun::cli {

enum class RunMode {
  kNull,   // translation only: nothing is traced
  kTrace,  // the full stream is made, put in order and counted; no cache model
  kSim,    // the cache model
};

struct RunOptions {
  std::vector<std::string> command;
  RunMode mode = RunMode::kSim;
  std::string config;     // path or bare name; needed by kSim
  std::string json_file;  // empty: none
  bool quiet = false;     // no progress line, no report
  bool engine_statistics = false;
  bool discard = false;     // kTrace: throw the stream away unread
  uint64_t quantum = 1000;  // instructions
  // What the launcher is told.
  bool aslr = false;
  uint64_t ring_bytes = 1u << 20;  // per thread; measured: smaller ones cost wake-ups, larger ones gain little
  uint64_t code_cache_bytes = 64u << 20;
  uint32_t max_superblock_instructions = 128;
  bool link_superblocks = true;
  bool elide_words = true;
  uint32_t force_safe_points = 0;
};

enum class Command { kRun, kConfig, kCompletion, kText };

struct CommandLine {
  Command command = Command::kRun;
  RunOptions run;
  std::string argument;  // kConfig: the machine; kCompletion: the shell; kText: what to print (help, version)
};

// `arguments`: without the program's name. Throws UserError with exit status 2.
CommandLine parse_command_line(const std::vector<std::string>& arguments);

// Chunks of a ring of `ring_bytes`: a power of two of bytes such that there are 8 of them, or as many as the smallest
// chunk allows.
uint32_t ring_chunk_bytes(uint64_t ring_bytes);

}  // namespace simrun::cli
