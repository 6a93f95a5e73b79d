// Keeps the addresses that the application's own mmap calls will get free of the engine: while the engine is being loaded, the upper
// part of the area from which the kernel serves mmap(NULL) is occupied by an inaccessible mapping (the blanket), so that everything the
// engine maps lands beyond it. The engine removes the blanket when it is set up, and the next mmap is served as in a native run.
#pragma once

#include <vector>

#include "instr/border/shared_memory.h"
#include "instr/host/remote_process.h"

namespace simrun::host {

struct Blanket {
  border::AddressRange main;               // bytes == 0: the kernel refused it
  std::vector<border::AddressRange> gaps;  // smaller holes that the kernel would have used first; at most kMaxBlanketGaps
};

Blanket cover_mmap_area(RemoteProcess& process);
void uncover(RemoteProcess& process, const Blanket& blanket);

// What is mapped in the process now, ascending; neighbours are joined.
std::vector<border::AddressRange> mapped_ranges(pid_t pid);

}  // namespace simrun::host
