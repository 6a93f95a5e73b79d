// One machine simulated by several host threads. The lines are dealt out to slices by the low bits of their numbers; a
// slice has its share of the sets of every cache, so every set, every line's state and every recency order lies in one
// slice, and the counts of the slices add up to what one Hierarchy counts (tests/sim/slices_test.cpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/hierarchy.h"
#include "sim/parallel/lane.h"

namespace simrun::sim {

class SlicedModel {
 public:
  // Why the machine cannot be cut into `threads` slices or more: one line; empty if it can.
  static std::string find_obstacle(const MachineConfig& config, uint32_t threads);

  // Throws UserError if there is an obstacle.
  SlicedModel(const MachineConfig& config, uint32_t threads);

  uint32_t cores() const { return config_.cores; }
  uint32_t line_bytes() const { return config_.line_bytes; }
  uint32_t slices() const { return static_cast<uint32_t>(slices_.size()); }
  bool wants_pc() const { return false; }
  void set_pc(uint64_t) {}

  // As Hierarchy has them, but the work is done later.
  void access_line(uint32_t core, Access kind, uint64_t line) { put(core, kind, line, Part::kFirst); }
  void access_further_line(uint32_t core, Access kind, uint64_t line) { put(core, kind, line, Part::kFurther); }
  void access(uint32_t core, Access kind, uint64_t address, uint32_t bytes) {
    const uint64_t first = address >> line_shift_;
    const uint64_t end = address + (bytes != 0 ? bytes - 1 : 0);
    const uint64_t last = end < address ? ~uint64_t{0} >> line_shift_ : end >> line_shift_;
    put(core, kind, first, Part::kFirst);
    for (uint64_t line = first; line != last;) put(core, kind, ++line, Part::kFurther);
  }
  void run_thread(uint32_t core, uint32_t thread);
  // Of everything so far: waits for the threads.
  Statistics statistics();
  bool check_invariants(std::string* why);

 private:
  // Of a reference that crosses lines; or none: Hierarchy::run_thread.
  enum class Part : uint8_t { kFirst, kFurther, kThread };
  struct Reference {
    uint64_t line;  // within the slice; kThread: the thread
    uint16_t core;
    uint16_t slice;
    Access kind;
    Part part;
  };
  static_assert(sizeof(Reference) == 16);
  using Batch = std::vector<Reference>;
  static constexpr size_t kBatch = 8192;

  void put(uint32_t core, Access kind, uint64_t line, Part part) {
    const auto slice = static_cast<uint16_t>(line & slice_mask_);
    Batch& batch = *filling_[slice & lane_mask_];
    batch.push_back({line >> slice_shift_, static_cast<uint16_t>(core), slice, kind, part});
    if (batch.size() == kBatch) [[unlikely]]
      send(slice & lane_mask_);
  }
  void send(size_t lane);
  void wait();
  void work(const Batch& batch);

  MachineConfig config_;
  uint32_t line_shift_;
  uint64_t slice_mask_;
  uint32_t slice_shift_;
  uint64_t lane_mask_;
  std::vector<std::unique_ptr<Hierarchy>> slices_;
  std::vector<std::shared_ptr<Batch>> filling_;  // by lane
  std::vector<std::unique_ptr<Lane<Reference>>> lanes_;
};

}  // namespace simrun::sim
