#include "instr/channel/thread_statistics.h"

namespace simrun::channel {

ThreadStatistics& ThreadStatistics::operator+=(const ThreadStatistics& o) {
  instructions += o.instructions;
  loads += o.loads;
  stores += o.stores;
  prefetches += o.prefetches;
  flushes += o.flushes;
  fetch_lines += o.fetch_lines;
  paths += o.paths;
  string_iterations += o.string_iterations;
  syscalls += o.syscalls;
  signals += o.signals;
  cuts += o.cuts;
  words += o.words;
  stalls += o.stalls;
  truncated_words += o.truncated_words;
  return *this;
}

}  // namespace simrun::channel
