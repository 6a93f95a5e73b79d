// A machine, and the misses that one of its levels would have at every size: the requests that the level gets, in a
// fully associative LRU cache (stack_distance.h) for each of its caches. The levels nearer the core are the machine's
// own; a write by a core takes the line from the caches of other cores, a flush from all.
#pragma once

#include <bit>
#include <string>
#include <vector>

#include "sim/curves/stack_distance.h"
#include "sim/hierarchy.h"

namespace simrun::sim {

struct MissCurve {
  struct Point {
    uint64_t bytes = 0;  // of each cache
    uint64_t misses = 0;
  };
  std::string level;  // "L1D"
  uint64_t caches = 0, accesses = 0, compulsory = 0, invalidated = 0;
  std::vector<Point> points;  // four sizes for each doubling, up to the largest footprint
};

class CurveModel final : public RequestObserver {
 public:
  // `level`: as in reports, "L1D" or "L2"; throws UserError when the machine has no such level.
  CurveModel(const MachineConfig& machine, const std::string& level);

  uint32_t cores() const { return model_.cores(); }
  uint32_t line_bytes() const { return model_.line_bytes(); }
  bool wants_pc() const { return model_.wants_pc(); }
  void set_pc(uint64_t pc) { model_.set_pc(pc); }
  void access_line(uint32_t core, Access kind, uint64_t line);
  void access_further_line(uint32_t core, Access kind, uint64_t line);
  void access(uint32_t core, Access kind, uint64_t address, uint32_t bytes);
  void run_thread(uint32_t core, uint32_t thread) { model_.run_thread(core, thread); }
  Statistics statistics() const { return model_.statistics(); }
  bool check_invariants(std::string* why) const { return model_.check_invariants(why); }
  MissCurve curve() const;

  void request(uint32_t level, Side side, uint32_t core, Access kind, uint64_t line) override;

 private:
  void look_at(uint32_t core, Access kind, uint64_t line);

  Hierarchy model_;
  std::string name_;
  uint32_t level_ = 0;
  Side side_ = Side::kUnified;
  uint32_t cores_per_cache_ = 1;
  uint32_t line_shift_;
  bool coherent_;
  std::vector<StackDistance> caches_;
};

}  // namespace simrun::sim
