// Which thread of a process is which in another run of the same program: indices are in the order in which threads were
// first seen, which is the host's when several threads start others.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "instr/channel/virtual_time.h"

namespace simrun::cli {

class ThreadNames {
 public:
  // Every event of the streams, in their order.
  void event(const channel::MergeThread& merged, std::span<const uint64_t> words);

  // 0: the first of its process; else its creator's name with a point and the how-many-th of its creations this is.
  // n1, n2, ...: whom nobody was seen to create (the program was attached to, or a region of it recorded).
  // Whoever asks for names asks when a thread starts, so that those that nobody created have the same ones everywhere.
  const std::string& of(const channel::ThreadReport& thread);

 private:
  std::map<std::pair<uint32_t, uint32_t>, std::string> announced_;  // by process and slot
  std::map<uint32_t, uint32_t> roots_;                              // of each process, so far
  std::vector<std::string> names_;                                  // by index; empty: not asked yet
  std::vector<uint32_t> created_;                                   // by index: threads that it has created
};

}  // namespace simrun::cli
