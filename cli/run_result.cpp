#include "cli/run_result.h"

namespace simrun::cli {

channel::ThreadStatistics RunResult::totals() const {
  channel::ThreadStatistics sum;
  for (const auto& thread : threads) sum += thread.statistics;
  return sum;
}

std::vector<uint64_t> RunResult::instructions_by_core() const {
  if (!machine) return {};
  std::vector<uint64_t> sums(machine->cores);
  for (const auto& thread : threads)
    sums[core_of_thread(thread.index, machine->cores)] += thread.statistics.instructions;
  return sums;
}

}  // namespace simrun::cli
