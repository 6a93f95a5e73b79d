// From places to names.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/memory/address_space.h"
#include "analysis/sharing/sharing_report.h"

namespace simrun::analysis {

// A header of a compiler or library: not what the programmer wrote.
bool is_of_a_library(const std::string& file);
// Of an instruction, innermost first and not empty: the innermost that is not such, else the first.
const SourceFrame& own_frame(const std::vector<SourceFrame>& frames);

// What places are counted together as.
struct ObjectName {
  std::string name;                       // "grid", "heap blocks allocated at make (list.c:12)", "stack of thread 1"
  std::vector<std::string> allocated_by;  // callers of the allocator, the innermost first
  uint64_t size = 0;                      // of a variable, 0: unknown, or no variable
  uint64_t same = 0;                      // so many bytes behind the place have this name too
};

class PlaceNames {
 public:
  explicit PlaceNames(const AddressSpace& space) : space_(space) {}

  DataName data(const Place& place);
  // Blocks by who allocated them (three callers), thread-local variables of all threads as one.
  ObjectName object(const Place& place);
  std::vector<SourceFrame> code(const Place& place);
  std::string module(const Place& place) const;

 private:
  DataName variable(const Place& place);
  DataName block(const Place& place);
  const std::vector<std::string>& callers(uint32_t site);
  std::vector<std::string> callers(uint32_t site, bool from_program);
  std::string return_address(uint32_t site, size_t k) const;

  const AddressSpace& space_;
  std::unordered_map<uint32_t, std::vector<std::string>> callers_;   // by site: a million lines may be of blocks from one
};

}  // namespace simrun::analysis
