// Everything that can be done with a trace, so that damage is met wherever it may be.
#pragma once

#include <cstdint>
#include <string>

namespace simrun::traces {

// Throws nothing that a user would not get as an error.
void use_trace(const std::string& path);

}  // namespace simrun::traces
