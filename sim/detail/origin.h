// Who made a reference, for the tables that are kept on request.
#pragma once

#include <cstdint>

namespace simrun::sim {

struct Origin {
  uint32_t thread = 0;   // index of the thread in the whole simulation
  uint32_t process = 0;  // whose address space `pc` is in
  uint64_t pc = 0;       // of the instruction
};

}  // namespace simrun::sim
