// The mapping that is shared with one target, in this process.
#pragma once

#include <cstdint>
#include <utility>

#include "instr/border/shared_memory.h"
#include "instr/host/file_descriptor.h"

namespace simrun::host {

// A mapping of this process that unmaps itself.
class LocalMapping {
 public:
  // `file`: that is mapped, for who wants to map it too.
  LocalMapping(void* address, uint64_t bytes, FileDescriptor file = FileDescriptor())
      : address_(address), bytes_(bytes), file_(std::move(file)) {}
  ~LocalMapping();
  LocalMapping(LocalMapping&& other) noexcept : address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_), file_(std::move(other.file_)) {}
  LocalMapping& operator=(LocalMapping&&) = delete;
  border::ProcessHeader& header() const { return *static_cast<border::ProcessHeader*>(address_); }
  void* address() const { return address_; }
  uint64_t bytes() const { return bytes_; }
  FileDescriptor take_file() { return std::move(file_); }

 private:
  void* address_;
  uint64_t bytes_;
  FileDescriptor file_;
};

}  // namespace simrun::host
