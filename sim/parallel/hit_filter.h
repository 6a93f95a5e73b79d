// Deals a batch of references out to slices, and leaves out those that are hits of level 1 whatever the caches hold. It
// looks at no cache, so several batches can be filtered at once, long before their turn.
//
// A group is references of one core in a row, no flush among them. As long as it has met no more lines of a set of
// level 1 than the set has ways, it has lost none of them by eviction: the least recently used line goes, and those are
// more recent than all others. So a reference hits when the group had its line already, written if it is a write, and
// nobody but level 1 itself took it away. Only the first read and the first write of each line are listed, with the
// number of the last reference to it, which is all that the order of recency needs. One line too many: all lines of
// that set are forgotten, and listed when they come again. That nobody took a line away is seen when the group is
// replayed (replay_groups.h).
#pragma once

#include <algorithm>
#include <vector>

#include "sim/build/machine_config.h"
#include "sim/parallel/reference_batch.h"

namespace simrun::sim {

class HitFilter {
 public:
  HitFilter(const MachineConfig& machine, uint32_t slices);

  // From `raw` and `segments` makes `groups` and `slices`.
  void run(Batch& batch);

 private:
  // What has been listed of a line. A line may be listed more often than needed, not less.
  struct Place {
    uint64_t key = kNoKey;  // line * 2, and 1 if it was written
    ListedReference* listed = nullptr;
  };
  static constexpr uint64_t kNoKey = ~uint64_t{0};
  // A group that has fewer would be more work to begin and end than to replay.
  static constexpr uint32_t kLeastReferences = 64;

  // Where to look for a line: the low bits are those of its set. (Apart from Side, for a loop to hold in registers.)
  struct Index {
    Place* places;
    uint64_t place_mask, tag_mask;
    Place& of(uint64_t line) const { return places[(line ^ (line >> kFold & tag_mask)) & place_mask]; }
  };
  static constexpr uint32_t kFold = 4;
  // Of the halves of level 1, or of it as a whole.
  struct Side {
    std::vector<Place> places;
    std::vector<uint8_t> lines_of_set;
    uint32_t ways;

    uint64_t set_of(uint64_t line) const { return line & (lines_of_set.size() - 1); }
    Index index() { return {places.data(), places.size() - 1, ~(lines_of_set.size() - 1)}; }
    void forget(uint64_t set) {
      for (uint64_t i = set; i < places.size(); i += lines_of_set.size()) places[i].key = kNoKey;
      lines_of_set[set] = 0;
    }
  };

  uint32_t filter(Batch& batch, uint32_t segment, uint32_t begin, uint32_t end);
  void list(Side& of, Place& place, PackedReference reference, uint32_t number);
  void list_all(Batch& batch, uint32_t segment, uint32_t begin, uint32_t end);
  void finish(Batch& batch, const Group& group);
  void forget_all(const Batch& batch);
  Side& side(Access kind) { return sides_[kind == Access::kFetch ? 0 : data_side_]; }

  uint64_t slice_mask_;
  uint32_t slice_shift_;
  bool filters_;  // false: level 1 is of another kind, all is listed
  size_t data_side_ = 0;
  std::vector<Side> sides_;
  std::vector<ListedReference*> next_;  // by slice: behind the last that is listed
};

}  // namespace simrun::sim
