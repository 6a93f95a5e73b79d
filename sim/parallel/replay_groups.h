// What a slice does with a batch of references that were filtered (hit_filter.h).
#pragma once

#include <vector>

#include "sim/hierarchy.h"
#include "sim/parallel/reference_batch.h"

namespace simrun::sim {

class GroupReplay {
 public:
  // `number`: of the slice, among `slices`; what no line belongs to is counted by number 0.
  GroupReplay(Hierarchy& slice, uint32_t number, uint32_t slices);

  // Makes the references of `batch` that belong to the slice. Afterwards it is, to the last counter and recency, what
  // it would be if it had got them one by one.
  void run(const Batch& batch);

 private:
  void begin(const Group& group);
  template <class Own>
  void replay(const Batch& batch, const Group& group, Own own);

  Hierarchy& slice_;
  uint64_t number_, slice_mask_;
  uint32_t slice_shift_;
  std::vector<uint32_t> own_;  // what was listed of the slice's lines, of some of them
};

}  // namespace simrun::sim
