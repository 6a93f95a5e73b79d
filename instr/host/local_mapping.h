// The mapping that is shared with one target, in this process.
#pragma once

#include <cstdint>
#include <utility>

#include "instr/border/shared_memory.h"

namespace simrun::host {

// A mapping of this process that unmaps itself.
class LocalMapping {
 public:
  LocalMapping(void* address, uint64_t bytes) : address_(address), bytes_(bytes) {}
  ~LocalMapping();
  LocalMapping(LocalMapping&& other) noexcept : address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_) {}
  LocalMapping& operator=(LocalMapping&&) = delete;
  border::ProcessHeader& header() const { return *static_cast<border::ProcessHeader*>(address_); }
  void* address() const { return address_; }
  uint64_t bytes() const { return bytes_; }

 private:
  void* address_;
  uint64_t bytes_;
};

}  // namespace simrun::host
