// The little that a recorder must know of an ELF file while the program runs: its build id, and where functions lie.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/record.h"

namespace simrun::traces {

// The note that linkers write, in hexadecimal; empty when the file has none or is no 64-bit ELF file.
std::string build_id_of(const std::string& path);

// Addresses, in the process that `module` is mapped in, of the functions of this name in its symbol tables. Of a versioned name
// (memcpy@GLIBC_2.14) the part before the @ counts. Empty: none in this part of the file.
std::vector<uint64_t> functions_named(const Module& module, const std::string& name);
// Likewise those whose symbols (without what is behind an @) `is_wanted`.
std::vector<uint64_t> functions_where(const Module& module, const std::function<bool(std::string_view)>& is_wanted);

}  // namespace simrun::traces
