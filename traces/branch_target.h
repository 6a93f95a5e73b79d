// Where a direct branch goes, from its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace simrun::traces {

// Of jcc, jmp, call, loop, jcxz and xbegin with a relative target; nothing for all else.
std::optional<uint64_t> branch_target(uint64_t pc, std::span<const uint8_t> code);

}  // namespace simrun::traces
