// What ran on which simulated core, from the changes of cores alone: for a part of a run, and for a run that was recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "instr/channel/thread_statistics.h"

namespace simrun::cli {

class CoreCounts {
 public:
  // `thread` is on `core` from here on; `instructions`: that it has retired. `is_new_there`: another one ran there since.
  void put(uint32_t thread, uint32_t core, bool is_new_there, uint64_t instructions) {
    if (threads_.size() <= thread) threads_.resize(thread + 1);
    if (cores_.size() <= core) cores_.resize(core + 1);
    Thread& t = threads_[thread];
    take(t, instructions);
    if (is_new_there && cores_[core].used) ++cores_[core].report.switches;
    if (t.core != kNone && t.core != core) ++t.migrations;
    cores_[core].used = true;
    t.core = core;
  }
  // At the end: what it retired on its last core, or on `otherwise` if it was put on none.
  void end(uint32_t thread, uint64_t instructions, uint32_t otherwise) {
    if (thread >= threads_.size() || threads_[thread].core == kNone) put(thread, otherwise, false, 0);
    take(threads_[thread], instructions);
  }

  // Of a machine with so many cores.
  std::vector<channel::CoreReport> reports(uint32_t cores) const {
    std::vector<channel::CoreReport> all(cores);
    for (size_t k = 0; k < cores_.size() && k < cores; ++k) all[k] = cores_[k].report;
    return all;
  }
  void tell(channel::ThreadReport& report) const {
    if (report.index >= threads_.size() || threads_[report.index].core == kNone) return;
    report.core = threads_[report.index].core;
    report.migrations = threads_[report.index].migrations;
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Thread {
    uint32_t core = kNone;
    uint64_t migrations = 0, taken = 0;
  };
  struct Core {
    bool used = false;
    channel::CoreReport report;
  };
  void take(Thread& t, uint64_t instructions) {
    if (t.core != kNone) cores_[t.core].report.instructions += instructions - t.taken;
    t.taken = instructions;
  }

  std::vector<Thread> threads_;
  std::vector<Core> cores_;
};

}  // namespace simrun::cli
