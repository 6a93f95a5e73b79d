// What a replacement policy sees of one set. Its state is a row of bytes, one for each way (padded_ways of them, more
// than ways), and, for policies that ask for it, a 64-bit word for each set and state for the whole cache. Empty ways
// are filled before anything is replaced, the lowest first; a policy is asked for a victim only when the set is full.
//
// A policy is a struct of static functions over a SetView:
//   reset(set)              once, at the start
//   hit(set, way)
//   fill(set, way, line)    a line came into an empty way
//   victim(set)             which way to empty
//   remove(set, way)        the way becomes empty, whatever the reason
// hit() must change nothing when the way was hit last; kFillIsHit says that a hit right after a fill changes nothing
// either, kHitIsNothing that no hit ever does. Level 1 does not show such hits (Cache::Recent).
#pragma once

#include <cstdint>
#include <vector>

namespace simrun::sim {

// State of a policy that all sets of a cache share.
struct SharedPolicyState {
  uint64_t sets = 0;
  uint32_t selector = 511;           // set dueling, 0..1023: 512 and up choose the second policy
  std::vector<uint8_t> counters;     // SHiP: by signature
  std::vector<uint16_t> signatures;  // SHiP: by slot
};

struct SetView {
  uint8_t* row;
  uint32_t ways;
  uint32_t padded_ways;
  uint64_t* word;
  uint64_t set;
  SharedPolicyState* shared;
};

// The 32nd, 64th, ... fill of a set: the rare case of the bimodal policies, by count and not by chance.
inline bool is_rare_fill(SetView s) { return ++*s.word % 32 == 0; }

// Set dueling (Qureshi et al., ISCA 2007): of every 64 sets (or of all, if there are fewer) the first is a leader of
// the first policy, the one in the middle a leader of the second; the others follow the leader with fewer misses.
// Returns whether this fill, a miss, is to be made by the second policy.
inline bool second_policy_fills(SetView s) {
  const uint64_t period = s.shared->sets < 64 ? s.shared->sets : 64;
  uint32_t& selector = s.shared->selector;
  if (period >= 2 && s.set % period == 0) {
    selector += selector < 1023;
    return false;
  }
  if (period >= 2 && s.set % period == period / 2) {
    selector -= selector > 0;
    return true;
  }
  return selector >= 512;
}

}  // namespace simrun::sim
