// What a living process has mapped, module by module.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/process_maps.h"

namespace simrun::cli {

// Empty: they are not known, because the process has ended or the kernel does not show them. There is never a part of them.
std::vector<MapsEntry> known_mappings(pid_t pid);

// A file and the memory that shows it, with the anonymous memory right behind (a module's zeroed data).
struct MappedModule {
  std::string path;
  uint64_t start = 0, end = 0;
  uint64_t code_address = 0, code_offset = 0;  // of one executable part
};

// The module around `address`; its `path` is empty when there is none.
MappedModule module_around(const std::vector<MapsEntry>& maps, uint64_t address);

}  // namespace simrun::cli
