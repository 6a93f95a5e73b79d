// The traces of regions in another simulator's format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/export/formats.h"

namespace simrun::cli {

struct RegionToExport {
  std::string trace, name;  // its file; what those that are made of it are called, without an ending
  uint32_t phase = 0;
  double weight = 0;
};

// Into `folder`, which is made if need be: NAME and the format's ending for each region; where the format holds one thread and a region has
// several, NAME/tN with the ending for each thread. And regions.csv: each file with its thread, phase, weight, and how many of its instructions are the
// warm-up's and the region's. What is there already and not older than its trace stays; files of other regions go. Throws UserError or TraceError.
// The result: how many files were written.
size_t export_regions(const std::vector<RegionToExport>& regions, const traces::ExportFormat& format, const std::string& folder, bool quiet);

// Says so when `folder` has files of regions of the program other than those that are called `names`.
void warn_of_other_regions(const std::string& folder, const std::string& program, const std::vector<std::string>& names);

}  // namespace simrun::cli
