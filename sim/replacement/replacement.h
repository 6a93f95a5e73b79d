// The policies by name. To add one: its struct (set_view.h says of what), a name in Replacement
// (sim/build/machine_config.h), a line here, a word in configs/machine_words.h, and the same in plain code in
// tests/sim/reference_replacement.cpp.
#pragma once

#include "base/check.h"
#include "sim/build/machine_config.h"
#include "sim/replacement/plru.h"
#include "sim/replacement/random.h"
#include "sim/replacement/recency.h"
#include "sim/replacement/rrip.h"

namespace simrun::sim {

// Calls f with an object of the policy's type. Not for LRU, which Cache does itself.
template <class F>
auto with_policy(Replacement policy, F f) {
  switch (policy) {
    case Replacement::kLru:
      break;
    case Replacement::kTreePlru:
      return f(replacement::TreePlru{});
    case Replacement::kBitPlru:
      return f(replacement::BitPlru{});
    case Replacement::kFifo:
      return f(replacement::Fifo{});
    case Replacement::kRandom:
      return f(replacement::Random{});
    case Replacement::kNru:
      return f(replacement::Nru{});
    case Replacement::kSrrip:
      return f(replacement::Srrip{});
    case Replacement::kBrrip:
      return f(replacement::Brrip{});
    case Replacement::kDrrip:
      return f(replacement::Drrip{});
    case Replacement::kShip:
      return f(replacement::Ship{});
    case Replacement::kLip:
      return f(replacement::Lip{});
    case Replacement::kBip:
      return f(replacement::Bip{});
    case Replacement::kDip:
      return f(replacement::Dip{});
  }
  CHECK(false);
}

// Choices that depend on more than the lines of one set: such a cache cannot be cut into slices.
constexpr bool is_set_local(Replacement policy) {
  return policy != Replacement::kDrrip && policy != Replacement::kDip && policy != Replacement::kShip;
}

}  // namespace simrun::sim
