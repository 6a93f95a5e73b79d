// Which file the code at an address is of. Kept up with the program by its kMappingChange events, so that it can be
// asked when the process is gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/process_maps.h"
#include "simpoint/profile.h"

namespace simrun::cli {

class CodeModules {
 public:
  // Looks at the process (or thread) now. What was known of other addresses stays known. Nothing after know_all().
  void look_at(pid_t pid);
  // Of a recorded process: `entries` are all there ever were.
  void know_all(const std::vector<MapsEntry>& entries) {
    take(entries);
    knows_all_ = true;
  }

  // module empty and offset == pc: no file is known there.
  simpoint::CodePlace place(uint64_t pc) const;
  // Where the instruction at that place of a file is in this process; several: mapped more than once.
  std::vector<uint64_t> addresses(const simpoint::CodePlace& place) const;
  // Raised when something new was learnt.
  uint64_t version() const { return version_; }

 private:
  void take(const std::vector<MapsEntry>& entries);

  struct Range {
    uint64_t end = 0, offset = 0;
    std::string path;
  };
  std::map<uint64_t, Range> ranges_;  // by start; executable parts of files
  uint64_t version_ = 0;
  bool knows_all_ = false;
};

}  // namespace simrun::cli
