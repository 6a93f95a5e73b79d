// A sink that remembers every call.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "instr/channel/reference.h"
#include "instr/channel/thread_statistics.h"

namespace simrun::channel {

struct Recorded {
  uint32_t thread;
  ReferenceKind kind;
  uint64_t address;  // kFetch: number of the line
  uint32_t bytes;    // kFetch: 0
  bool operator==(const Recorded&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Recorded& r) {
  return out << "{thread " << r.thread << ", kind " << int(r.kind) << ", 0x" << std::hex << r.address << std::dec
             << ", " << r.bytes << "}";
}

class RecordingSink final {
 public:
  static constexpr bool kWantsReferences = true;
  uint32_t start_thread(const ThreadReport& thread) {
    starts.push_back(thread);
    return thread.index;
  }
  void fetch(uint32_t handle, uint64_t line) {
    if (fetches) all.push_back({handle, ReferenceKind::kFetch, line, 0});
  }
  void data(uint32_t handle, ReferenceKind kind, uint64_t address, uint32_t bytes) {
    all.push_back({handle, kind, address, bytes});
  }

  std::vector<ThreadReport> starts;
  std::vector<Recorded> all;
  bool fetches = true;
};

}  // namespace simrun::channel
