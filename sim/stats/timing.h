// Cycles and average access times from counts: docs/cache-model.md, "Cycles". A sum over counts, so it costs a
// simulation nothing, and it grows with every latency.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/build/machine_config.h"
#include "sim/stats/statistics.h"

namespace simrun::sim {

struct CoreTiming {
  double cycles = 0;
  double cpi = 0;                    // cycles per instruction; 0 without instructions
  double fetch_amat = 0;             // average cycles from request to data of fetches,
  double data_amat = 0;              // of reads and writes; 0 without accesses
  double base_cycles = 0;            // instructions x cpi of the machine
  std::vector<double> stall_cycles;  // by the level that answered, as in CoreStatistics::served; [0] is 0
  double transfer_cycles = 0;        // stalls: what handing over took more
  double tlb_cycles = 0;             // stalls: second-level TLB and page walks
  double upgrade_cycles = 0;         // stalls: writes that asked for permission
};

// Cycles from a core's request to data from `level` (from 0; the number of levels: memory).
uint32_t latency_of(const MachineConfig& machine, size_t level, Side side);

CoreTiming timing_of(const MachineConfig& machine, const CoreStatistics& core, uint64_t instructions);

}  // namespace simrun::sim
