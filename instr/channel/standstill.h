// Count mode: threads that have not said for a while how far they are. They say it at limit checks, and one that goes round by look-ups of
// indirect targets only (an interpreter that jumps from one operation to the next) comes to none (docs/count-mode.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "instr/channel/mapped_process.h"

namespace simrun::channel {

class Standstill {
 public:
  // Has those come to a safe point whose number of retired instructions is what it was the last time, 100 ms ago at least. Often called.
  // `processes`: null where one has ended.
  void look(const std::vector<std::unique_ptr<MappedProcess>>& processes);

 private:
  std::chrono::steady_clock::time_point next_{};
  std::vector<std::vector<uint64_t>> retired_;   // by process and slot
};

}  // namespace simrun::channel
