// StreamError: the shared memory holds what the protocol does not allow (a defect of the engine, or the application
// wrote over it). The reader stops at the first one; nothing that follows it can be trusted.
#pragma once

#include <stdexcept>
#include <string>

namespace simrun::channel {

struct StreamError : std::runtime_error {
  explicit StreamError(const std::string& what) : std::runtime_error("corrupt stream: " + what) {}
};

}  // namespace simrun::channel
