// Which process of a run is which in another run of the same program: pids and the order in which children are first
// seen are the host's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/process_maps.h"
#include "instr/host/family.h"

namespace simrun::cli {

struct ProcessOrigin {
  // Empty: the launched one. Else its parent's name (0 for the launched one) with a point and the how-many-th fork of
  // it this is, and an x for each program that it has executed since: 0.2x.
  std::string name;
  std::optional<uint32_t> copy_of;      // it began with the code of this process
  std::optional<std::vector<MapsEntry>> mappings;  // all it ever had: it is recorded. Else: ask the kernel
};

using OriginOf = std::function<ProcessOrigin(uint32_t process)>;

// For as long as the family exists.
OriginOf origins_in(const host::Family& family);

}  // namespace simrun::cli
