#include "sim/stats/timing.h"

#include <numeric>

namespace simrun::sim {

namespace {

double times(uint64_t count, double factor) { return static_cast<double>(count) * factor; }

// A read-modify-write needs its data first: it waits as a read does.
double exposed_data(const AccessCounts& a, const CoreConfig& c) {
  return times(a.reads + a.read_modify_writes, c.read_exposed) + times(a.writes - a.read_modify_writes, c.write_exposed);
}

double quotient(double part, uint64_t whole) { return whole == 0 ? 0 : part / static_cast<double>(whole); }

}  // namespace

uint32_t latency_of(const MachineConfig& machine, size_t level, Side side) {
  if (level == machine.levels.size()) return machine.memory_latency;
  const LevelConfig& l = machine.levels[level];
  return !l.split ? l.unified.latency : side == Side::kInstruction ? l.instruction.latency : l.data.latency;
}

CoreTiming timing_of(const MachineConfig& machine, const CoreStatistics& core, uint64_t instructions) {
  const CoreConfig& c = machine.core;
  CoreTiming timing;
  uint64_t fetches = 0, data = 0;
  double fetch_cycles = times(core.handed_over.fetches, machine.transfer_latency);
  double data_cycles = times(core.handed_over.reads + core.handed_over.writes, machine.transfer_latency);
  for (size_t level = 0; level < core.served.size(); ++level) {
    const AccessCounts& a = core.served[level];
    const double fetch_latency = latency_of(machine, level, Side::kInstruction);
    const double data_latency = latency_of(machine, level, Side::kData);
    fetches += a.fetches, data += a.reads + a.writes;
    fetch_cycles += times(a.fetches, fetch_latency);
    data_cycles += times(a.reads + a.writes, data_latency);
    timing.stall_cycles.push_back(level == 0 ? 0 : times(a.fetches, fetch_latency * c.fetch_exposed) + exposed_data(a, c) * data_latency);
    timing.upgrade_cycles += times(core.upgrades[level], data_latency * c.write_exposed);
  }
  timing.transfer_cycles = machine.transfer_latency * (times(core.handed_over.fetches, c.fetch_exposed) + exposed_data(core.handed_over, c));
  if (machine.tlb) {
    const auto tlb_cycles = [&](const TlbCounts& t) {
      return times(t.misses - t.walks, machine.tlb->second_latency) + times(t.walks, machine.tlb->walk_latency);
    };
    timing.tlb_cycles = tlb_cycles(core.fetch_tlb) * c.fetch_exposed + tlb_cycles(core.data_tlb) * c.read_exposed;
  }
  timing.base_cycles = times(instructions, c.cpi);
  timing.cycles = std::accumulate(timing.stall_cycles.begin(), timing.stall_cycles.end(), timing.base_cycles) +
                  timing.transfer_cycles + timing.upgrade_cycles + timing.tlb_cycles;
  timing.cpi = quotient(timing.cycles, instructions);
  timing.fetch_amat = quotient(fetch_cycles, fetches);
  timing.data_amat = quotient(data_cycles, data);
  return timing;
}

}  // namespace simrun::sim
