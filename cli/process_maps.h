// /proc/PID/maps as values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace simrun::cli {

struct MapsEntry {
  uint64_t start = 0, end = 0, offset = 0;
  bool executable = false;
  std::string path;  // empty: anonymous
};

// Empty when the process is gone.
std::vector<MapsEntry> read_process_maps(pid_t pid);

// A file of /proc/PID as it is; empty when the process has ended (streams' iterators would throw then).
std::string read_process_file(pid_t pid, const char* name);
std::vector<MapsEntry> parse_process_maps(const std::string& text);

// A file and the memory that shows it, with the anonymous memory right behind (a module's zeroed data).
struct MappedModule {
  std::string path;
  uint64_t start = 0, end = 0;
  uint64_t code_address = 0, code_offset = 0;  // of one executable part
};

// The module around `address`; its `path` is empty when there is none.
MappedModule module_around(const std::vector<MapsEntry>& maps, uint64_t address);

}  // namespace simrun::cli
