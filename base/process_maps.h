// /proc/PID/maps (proc_pid_maps(5)) as values, in simrun's process and in the target's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simrun {

struct MapsEntry {
  uint64_t start = 0, end = 0, offset = 0;
  bool readable = false, writable = false, executable = false, shared = false;
  uint32_t major = 0, minor = 0;   // of the device
  uint64_t inode = 0;              // 0: no file
  // As the kernel writes it: a newline in it is \012 and a file that has no name any more has " (deleted)" behind (fs/proc/task_mmu.c,
  // show_map_vma), or "[stack]" and the like. Empty: anonymous.
  std::string path;
};

// False, and no entries: a line is not understood, or the last one is not whole.
bool parse_process_maps(std::string_view text, std::vector<MapsEntry>* entries);

// All mappings that the file `path` shows: there is never a part of them. 0, or else the number of an error, and no entries: that of open(2)
// or read(2), ESRCH if the file is empty (the process has no memory any more), EBADMSG if it is not understood.
int read_maps_file(const char* path, std::vector<MapsEntry>* entries);

}  // namespace simrun
