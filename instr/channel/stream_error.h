// StreamError: the shared memory holds what the protocol does not allow (a defect of the engine, or the application
// wrote over it). The reader stops at the first one; nothing that follows it can be trusted. CapacityError: nothing is wrong
// with it, but it is more than the model has room for.
#pragma once

#include <stdexcept>
#include <string>

namespace simrun::channel {

struct StreamError : std::runtime_error {
  explicit StreamError(const std::string& what) : StreamError("corrupt stream: ", what) {}

 protected:
  StreamError(const char* prefix, const std::string& what) : std::runtime_error(prefix + what) {}
};

struct CapacityError : StreamError {
  explicit CapacityError(const std::string& what) : StreamError("", what) {}
};

}  // namespace simrun::channel
