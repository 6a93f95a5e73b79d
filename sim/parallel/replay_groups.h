// What a slice does with a filtered batch (hit_filter.h).
#pragma once

#include "sim/hierarchy.h"
#include "sim/parallel/reference_batch.h"

namespace simrun::sim {

class GroupReplay {
 public:
  GroupReplay(Hierarchy& slice, uint32_t number, uint32_t slices);

  // Makes the references of `batch` that belong to the slice. Afterwards it is, to the last counter and recency, what
  // it would be if it had got them one by one.
  void run(const Batch& batch);

 private:
  void begin(const Segment& segment);
  void replay(const Batch& batch, const Group& group, const ListedReference* from, const ListedReference* to);
  void replay_rest(const Batch& batch, const Group& group, uint32_t done, const uint64_t (&clocks)[2]);
  void set_clocks(uint32_t core, const uint64_t (&clocks)[2], uint64_t passed);
  void set_time(uint32_t core, PackedReference reference, uint64_t time);
  uint64_t losses(uint32_t core) const;

  Hierarchy& slice_;
  uint64_t number_, slice_mask_;
  uint32_t slice_shift_;
};

}  // namespace simrun::sim
