// The instructions and the lines that cost a machine most, with names: from a model that kept details.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/sharing/sharing_report.h"
#include "sim/hierarchy.h"

namespace simrun::cli {

class SharingSink;
class TraceSymbols;

struct HotInstruction {
  uint32_t process = 0;
  uint64_t pc = 0;
  std::vector<analysis::SourceFrame> frames;  // inlined functions first; empty: unknown
  std::string module;                         // its path; empty: unknown
  sim::OriginCounts counts;
  uint64_t stall_cycles = 0;  // of the data's latencies beyond level 1, nothing hidden; without latencies: misses
};

struct HotLine {
  uint32_t process = 0;
  uint64_t address = 0;  // of the line, as the process has it
  analysis::DataName data;
  uint64_t reads = 0, writes = 0;
  uint64_t threads = 0;  // that read or wrote it; none: only fetched
  std::array<uint64_t, sim::kMaxLevels> misses{};
  sim::SharingCounts sharing;
  uint64_t stall_cycles = 0;
};

struct HotSpots {
  std::vector<HotInstruction> instructions;  // the worst first, by stall_cycles
  std::vector<HotLine> lines;
};

// Of each at most `limit`, those only that missed, or wrote what others had, too.
HotSpots find_hot_spots(const SharingSink& sink, size_t limit);
// Of a model that a trace was replayed into. Lines have addresses only: `places`, by the lines' numbers in the model.
struct LinePlace {
  uint32_t process;
  uint64_t address;
};
using LinePlaces = std::unordered_map<uint64_t, LinePlace>;
HotSpots find_hot_spots(const sim::Hierarchy& model, const LinePlaces& places, TraceSymbols& symbols, size_t limit);

}  // namespace simrun::cli
