// A stretch of the one order of references, on its way through a SlicedModel: as it came, and as it is after the
// filter (hit_filter.h), by slice.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/vocabulary.h"

namespace simrun::sim {

// A reference to one line: the line's number, which has three bits to spare as lines have 8 bytes at least, its kind.
using PackedReference = uint64_t;
inline constexpr uint32_t kKindBits = 3;
static_assert(kAccessKinds <= 1u << kKindBits);
constexpr PackedReference pack(uint64_t line, Access kind) { return line << kKindBits | index(kind); }
constexpr uint64_t line_of(PackedReference r) { return r >> kKindBits; }
constexpr Access kind_of(PackedReference r) { return static_cast<Access>(r & ((1u << kKindBits) - 1)); }

// References of one core in a row. What a thread's beginning has to do with it comes before the first of them.
struct Segment {
  static constexpr uint32_t kSameThread = ~0u;
  uint32_t begin = 0;  // in Batch::raw, up to the next segment's
  uint32_t core = 0;
  uint32_t thread = kSameThread;                    // else: Hierarchy::run_thread
  std::array<uint32_t, kAccessKinds> further = {};  // how many of them are further lines of references, by kind
};

// What a slice has to look at: a reference and, in a filtered group, the last one in a row that surely hits if this
// one's line is still there.
struct ListedReference {
  PackedReference reference;  // the line within the slice
  uint32_t first, last;       // in Batch::raw
};

// References of a segment that a slice takes together.
struct Group {
  uint32_t segment;
  uint32_t begin, end;                               // in Batch::raw
  bool filtered;                                     // else all of its references are listed
  std::array<uint32_t, kAccessKinds> accesses = {};  // of all slices, when filtered
};

struct Batch {
  static constexpr uint32_t kReferences = 8192;
  struct OfSlice {
    std::vector<ListedReference> listed;
    std::vector<uint32_t> ends;  // in `listed`, by group
  };

  std::vector<PackedReference> raw;
  uint32_t size = 0;
  std::vector<Segment> segments;
  std::vector<Group> groups;
  std::vector<OfSlice> slices;
};

}  // namespace simrun::sim
