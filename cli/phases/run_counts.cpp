#include "cli/phases/run_counts.h"

#include "sim/stats/timing.h"

namespace simrun::cli {

namespace {

constexpr size_t kInstructions = 0, kLoads = 1, kStores = 2, kMemory = 3, kCycles = 4, kFirstLevel = 5;

}  // namespace

simpoint::Counts counts_of(const sim::MachineConfig& machine, const sim::Statistics& statistics, uint64_t instructions) {
  sim::CoreStatistics cores;
  for (const sim::CoreStatistics& core : statistics.cores) cores += core;
  simpoint::Counts counts(kFirstLevel);
  counts[kInstructions] = static_cast<double>(instructions);
  counts[kLoads] = static_cast<double>(cores.loads + cores.read_modify_writes);
  counts[kStores] = static_cast<double>(cores.stores + cores.read_modify_writes);
  counts[kMemory] = static_cast<double>(statistics.memory.reads);
  counts[kCycles] = sim::timing_of(machine, cores, instructions).cycles;
  for (const sim::LevelStatistics& level : statistics.levels)
    counts.push_back(static_cast<double>(level.total.requests.misses.demand()));
  return counts;
}

double Figure::value(const simpoint::Counts& counts) const {
  double sum = 0;
  for (const auto& [index, factor] : of) sum += counts[index] * factor;
  return sum / counts[kInstructions];
}

std::vector<Figure> figures_of(const sim::Statistics& statistics) {
  constexpr double kLeastMpki = 1;  // a tenth of it changes CPI by about 1 %
  std::vector<Figure> figures;
  for (size_t i = 0; i < statistics.levels.size(); ++i)
    figures.push_back({statistics.levels[i].name + " MPKI", "misses / 1000 instructions", kLeastMpki, {{kFirstLevel + i, 1000.0}}});
  figures.push_back({"memory reads", "lines / 1000 instructions", kLeastMpki, {{kMemory, 1000.0}}});
  figures.push_back({"CPI estimate", "cycles", 0, {{kCycles, 1.0}}});
  figures.push_back({"loads", "/ 100 instructions", 0.1, {{kLoads, 100.0}}});
  figures.push_back({"stores", "/ 100 instructions", 0.1, {{kStores, 100.0}}});
  return figures;
}

}  // namespace simrun::cli
