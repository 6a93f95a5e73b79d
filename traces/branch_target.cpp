#include "traces/branch_target.h"

#include <cstring>

namespace simrun::traces {

namespace {

bool is_prefix(uint8_t byte) {
  return (byte >= 0x40 && byte <= 0x4f) || byte == 0x2e || byte == 0x3e || byte == 0x66 || byte == 0x67 ||
         byte == 0xf2 || byte == 0xf3 || byte == 0x26 || byte == 0x36 || byte == 0x64 || byte == 0x65;
}

}  // namespace

std::optional<uint64_t> branch_target(uint64_t pc, std::span<const uint8_t> code) {
  size_t at = 0;
  while (at < code.size() && is_prefix(code[at])) ++at;
  if (at == code.size()) return std::nullopt;
  const uint8_t opcode = code[at];
  const bool is_short = (opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3) || opcode == 0xeb;
  const bool is_near = opcode == 0xe8 || opcode == 0xe9 || (opcode == 0xc7 && at + 1 < code.size() && code[at + 1] == 0xf8);
  const bool is_near_conditional = opcode == 0x0f && at + 1 < code.size() && code[at + 1] >= 0x80 && code[at + 1] <= 0x8f;
  int64_t distance = 0;
  if (is_short && code.size() == at + 2) {
    distance = static_cast<int8_t>(code[at + 1]);
  } else if ((is_near || is_near_conditional) && code.size() >= at + 5) {
    int32_t near_distance;
    std::memcpy(&near_distance, code.data() + code.size() - 4, 4);
    distance = near_distance;
  } else {
    return std::nullopt;
  }
  return pc + code.size() + static_cast<uint64_t>(distance);
}

}  // namespace simrun::traces
