// One machine simulated by several host threads. The lines are dealt out to slices by the low bits of their numbers; a
// slice has its share of the sets of every cache, so every set, every line's state and every recency order lies in one
// slice, and the counts of the slices add up to what one Hierarchy counts (tests/sim/slices_test.cpp).
//
// Who has the references filters and lists them (hit_filter.h). The threads, and that one when there is no room,
// replay what is left, each slice in order, one thread at a time (replay_groups.h): decision 24.
#pragma once

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sim/hierarchy.h"
#include "sim/parallel/hit_filter.h"
#include "sim/parallel/reference_batch.h"
#include "sim/parallel/replay_groups.h"

namespace simrun::sim {

class SlicedModel {
 public:
  // Why the machine cannot be cut into `threads` slices or more: one line; empty if it can.
  static std::string find_obstacle(const MachineConfig& config, uint32_t threads);

  // Throws UserError if there is an obstacle.
  SlicedModel(const MachineConfig& config, uint32_t threads);
  ~SlicedModel();
  SlicedModel(const SlicedModel&) = delete;
  SlicedModel& operator=(const SlicedModel&) = delete;

  uint32_t cores() const { return config_.cores; }
  uint32_t line_bytes() const { return config_.line_bytes; }
  uint32_t slices() const { return static_cast<uint32_t>(slices_.size()); }
  bool wants_pc() const { return false; }
  void set_pc(uint64_t) {}

  // As Hierarchy has them, but what is more than a hit that the filter knows is done later.
  void access_line(uint32_t core, Access kind, uint64_t line) {
    work_for(core);
    ++group_.accesses[index(kind)];
    Cache::Recent& recent = shortcuts_[kind != Access::kFetch].find(line);
    if (recent.answers(line, is_write(kind)) && kind != Access::kFlush) [[likely]]
      recent.used = ++*shortcuts_[0].clock;
    else
      put(kind, line);
  }
  void access_further_line(uint32_t core, Access kind, uint64_t line) {
    work_for(core);
    ++group_.further[index(kind)];
    access_line(core, kind, line);
  }
  void access(uint32_t core, Access kind, uint64_t address, uint32_t bytes) {
    work_for(core);
    ++group_.accesses[index(kind)];
    access_counted(core, kind, address, bytes, 0);
  }
  // What answers are hits that the filter knows. Of all cores the same: work_for() before they are used. Who holds the
  // clock while a batch is sent may put back a later time than the new group began at: only the order of times counts.
  Hierarchy::Hits hits(uint32_t core);
  // The references that come now are those of `core`.
  void work_for(uint32_t core) {
    if (core != group_.core) [[unlikely]]
      begin_group(core, Group::kSameThread);
  }
  void access_counted_line(uint32_t core, Access kind, uint64_t line, uint64_t /*ahead*/ = 0) {
    work_for(core);
    put(kind, line);
  }
  void access_counted(uint32_t core, Access kind, uint64_t address, uint32_t bytes, uint64_t /*ahead*/) {
    const uint64_t first = address >> line_shift_;
    const uint64_t end = address + (bytes != 0 ? bytes - 1 : 0);
    const uint64_t last = end < address ? ~uint64_t{0} >> line_shift_ : end >> line_shift_;
    access_counted_line(core, kind, first);
    for (uint64_t line = first; line != last;) access_further_line(core, kind, ++line);
  }
  void access_amid(uint32_t core, Access kind, uint64_t address, uint32_t bytes, uint64_t /*ahead*/) {
    access(core, kind, address, bytes);
  }
  void look_up_page(uint32_t, bool, uint64_t) {}  // there are no TLBs

  void run_thread(uint32_t core, uint32_t thread) { begin_group(core, thread); }
  // Of everything so far: waits for the threads.
  Statistics statistics();
  bool check_invariants(std::string* why);

 private:
  // Batches under way. More would let the one who has the references run further ahead, and leave the host's caches.
  static constexpr uint64_t kBatches = 4;

  struct OneSlice {
    std::unique_ptr<Hierarchy> model;
    std::unique_ptr<GroupReplay> replay;
    uint64_t done = 0;  // batches
    bool busy = false;
  };

  Batch& filling() { return batches_[sent_ % kBatches]; }
  void put(Access kind, uint64_t line);
  void begin_group(uint32_t core, uint32_t thread);
  void end_group(bool filtered);
  void send();
  void wait();
  void help_until(std::unique_lock<std::mutex>& lock, uint64_t done);
  uint64_t all_done() const;
  void run(uint32_t thread);
  bool replay_one(std::unique_lock<std::mutex>& lock, uint32_t thread);

  MachineConfig config_;
  uint32_t line_shift_;

  // Of the one who has the references.
  HitFilter filter_;
  Cache::Shortcut shortcuts_[2];  // the filter's, for fetches and data
  Group group_;                   // under way

  std::array<Batch, kBatches> batches_;  // number i in [i % kBatches]
  std::vector<OneSlice> slices_;
  std::mutex mutex_;  // guards what follows, `done` and `busy`
  std::condition_variable work_, space_;
  uint64_t sent_ = 0;    // batches: complete
  uint32_t idle_ = 0;    // threads that wait for work
  uint64_t wanted_ = 0;  // batches that must be done for `space_`
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace simrun::sim
