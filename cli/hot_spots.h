// The functions, instructions, objects and lines that cost a machine most, with names: from a model that kept details.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/sharing/sharing_report.h"
#include "cli/missed_objects.h"
#include "sim/hierarchy.h"

namespace simrun::cli {

class SharingSink;
class TraceSymbols;

// What an entry of each table costs by the machine's estimate. Without latencies both are 0.
struct Cost {
  double stall_cycles = 0;      // of a core's `stall_cycles`, `transfer_cycles` and `upgrade_cycles`
  uint64_t latency_cycles = 0;  // what overlaps with work included
};

// As it was linked: what was inlined into it included.
struct HotFunction {
  uint32_t process = 0;
  std::string function;  // empty: no symbol is known of the code
  std::string module;    // its path; empty: unknown
  sim::OriginCounts counts;
  Cost cost;
};

struct HotInstruction {
  uint32_t process = 0;
  uint64_t pc = 0;
  std::vector<analysis::SourceFrame> frames;  // inlined functions first; empty: unknown
  std::string module;                         // its path; empty: unknown
  sim::OriginCounts counts;
  Cost cost;
};

// A variable, all blocks with the same allocating calls, a stack, the code of a module.
struct HotObject {
  uint32_t process = 0;
  std::string object;
  std::vector<std::string> allocated_by;  // callers of the allocator, the innermost first
  uint64_t bytes = 0;                     // of the variable, or of all blocks that missed; 0: unknown
  ObjectCounts counts;
  Cost cost;
};

struct HotLine {
  uint32_t process = 0;
  uint64_t address = 0;  // of the line, as the process has it
  analysis::DataName data;
  uint64_t reads = 0, writes = 0;
  uint64_t threads = 0;  // that read or wrote it; none: only fetched
  std::array<uint64_t, sim::kMaxLevels> misses{};
  sim::SharingCounts sharing;
  Cost cost;
  uint64_t number = 0;  // in the model: memory that processes share has several lines at an address
};

// Each the worst first: by stalls, then latency, then misses of all levels.
struct HotSpots {
  std::vector<HotFunction> functions;
  std::vector<HotInstruction> instructions;
  std::vector<HotObject> objects;  // none of a trace, which does not have allocations
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
