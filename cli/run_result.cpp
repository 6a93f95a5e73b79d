#include "cli/run_result.h"

#include <sys/resource.h>

namespace simrun::cli {

double own_processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

EngineCounts& EngineCounts::operator+=(const EngineCounts& o) {
  for (auto member :
       {&EngineCounts::superblocks, &EngineCounts::translated_instructions, &EngineCounts::code_bytes,
        &EngineCounts::links, &EngineCounts::dispatches_new, &EngineCounts::dispatches_link,
        &EngineCounts::dispatches_indirect, &EngineCounts::dispatches_syscall, &EngineCounts::dispatches_check,
        &EngineCounts::dispatches_other, &EngineCounts::signals, &EngineCounts::faults, &EngineCounts::flushes,
        &EngineCounts::protected_pages, &EngineCounts::pages_given_back, &EngineCounts::indirect_targets, &EngineCounts::renewals,
        &EngineCounts::paths})
    this->*member += o.*member;
  translation_seconds += o.translation_seconds;
  return *this;
}

channel::ThreadStatistics RunResult::totals() const {
  channel::ThreadStatistics sum;
  for (const auto& thread : threads) sum += thread.statistics;
  return sum;
}

std::map<uint32_t, ProcessCounts> RunResult::counts_by_process() const {
  std::map<uint32_t, ProcessCounts> sums;
  for (const auto& thread : threads) {
    ProcessCounts& sum = sums[thread.process];
    sum.totals += thread.statistics;
    if (thread.index < caches.threads.size()) sum.model += caches.threads[thread.index];
  }
  return sums;
}

std::vector<uint64_t> RunResult::instructions_by_core() const {
  if (!machine) return {};
  std::vector<uint64_t> sums(machine->cores);
  for (size_t core = 0; core < cores.size(); ++core) sums.at(core) = cores[core].instructions;
  if (!cores.empty()) return sums;
  for (const auto& thread : threads)
    sums[core_of_thread(thread.core, machine->cores)] += thread.statistics.instructions;
  return sums;
}

}  // namespace simrun::cli
