// Stands in for the simulator of a process whose streams nobody reads any more.
#pragma once

#include <atomic>
#include <thread>

#include "instr/host/target.h"

namespace simrun::host {

class StreamDiscarder {
 public:
  // From now on the target's rings are emptied, what its engine asks is refused, and nothing that it does is waited for. `target` outlives this.
  explicit StreamDiscarder(Target& target);
  ~StreamDiscarder();
  StreamDiscarder(const StreamDiscarder&) = delete;
  StreamDiscarder& operator=(const StreamDiscarder&) = delete;

 private:
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace simrun::host
