// The invariants of a trace, checked over all of it: chunks decode, control flow continues, branches go where they can,
// addresses are plausible, counts equal what the file says of itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "traces/reader.h"

namespace simrun::traces {

struct CheckReport {
  std::vector<std::string> violations;  // the first hundred, each with the instruction's number and thread
  uint64_t violation_count = 0;
  uint64_t instructions = 0, references = 0, transitions = 0;
  // Transitions that no rule binds: after signals, faults and events that change where a thread is.
  uint64_t free_transitions = 0;
};

// `progress(instructions so far)` is called after each chunk. Throws TraceError for what cannot be decoded.
CheckReport check_trace(const Reader& trace, const std::function<void(uint64_t)>& progress);

}  // namespace simrun::traces
