// What one reference is to a sink.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "instr/border/descriptors.h"

namespace simrun::channel {

enum class ReferenceKind : uint8_t {
  kFetch,
  kLoad,
  kStore,
  kReadModifyWrite,  // one reference; a load and a store in the totals
  kPrefetch,
  kFlush,
  kNonTemporalLoad,   // a load in the totals
  kNonTemporalStore,  // a store in the totals
};

// A reference that is one sum: address = word[a] + (word[b] << shift) + disp, with the words of one execution of the
// path; word[0] is the path's id, a constant, so an absent word reads it and `disp` takes it back: no branch. For
// kFetch the sum is the number of a line (address / line size), else a byte address.
struct Reference {
  int64_t disp;
  uint16_t a;
  uint16_t b;
  uint16_t bytes;
  uint8_t shift;
  ReferenceKind kind;
};
static_assert(sizeof(Reference) == 16);

// How many of some references in a row are what. Here a read-modify-write is neither a load nor a store.
struct PlainCounts {
  uint32_t fetches, loads, stores, modifications;
};

// References of one execution of a path, in a row.
struct PlainReferences {
  const Reference* references;
  const uint64_t* pcs;  // of the instruction of each
  size_t size;
  const uint64_t* words;  // of the execution
  PlainCounts counts;
};

// One reference of an iteration of a repeated string instruction.
struct StringReference {
  ReferenceKind kind;
  uint64_t address;
  uint32_t bytes;
};

inline uint64_t evaluate(const Reference& r, const uint64_t* words) {
  return words[r.a] + (words[r.b] << r.shift) + static_cast<uint64_t>(r.disp);
}

// What the `disp` of a fetch is to be added to, in one execution of its path: a fetch has no words but the id.
inline uint64_t fetch_base(const uint64_t* words) { return 2 * words[0]; }

// OperandKind in the terms of sinks and totals.
inline ReferenceKind to_reference_kind(border::OperandKind kind) {
  constexpr std::array kKinds = {
      ReferenceKind::kLoad,  ReferenceKind::kStore,           ReferenceKind::kReadModifyWrite, ReferenceKind::kPrefetch,
      ReferenceKind::kFlush, ReferenceKind::kNonTemporalLoad, ReferenceKind::kNonTemporalStore};
  return kKinds[static_cast<size_t>(kind)];
}

}  // namespace simrun::channel
