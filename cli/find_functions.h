// Functions by the names that users know.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/record.h"

namespace simrun::cli {

// "shop::sell" of "shop::sell(long) const [clone .cold]". Of a template the result goes too: "shop::sell<long>" of "int shop::sell<long>(long)".
std::string without_parameters(const std::string& demangled);

// Addresses, in the process that `module` is mapped in, of the functions whose symbol is `name`; if there is none, of those
// whose demangled name it is, with or without the parameters (then of all overloads). Spaces do not matter.
std::vector<uint64_t> find_functions(const traces::Module& module, const std::string& name);

}  // namespace simrun::cli
