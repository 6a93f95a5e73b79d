// The record of ChampSim's instruction traces.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simrun::traces {

struct ChampsimRecord {
  uint64_t ip;
  uint8_t is_branch, branch_taken;
  uint8_t destination_registers[2], source_registers[4];
  uint64_t destination_memory[2], source_memory[4];
};
static_assert(sizeof(ChampsimRecord) == 64 && offsetof(ChampsimRecord, source_registers) == 12 &&
              offsetof(ChampsimRecord, destination_memory) == 16 && offsetof(ChampsimRecord, source_memory) == 32);

inline constexpr uint8_t kChampsimStackPointer = 6, kChampsimFlags = 25, kChampsimInstructionPointer = 26;
// Ours: no meaning to its decoder.
inline constexpr uint8_t kChampsimFirstGeneral = 32, kChampsimNeverWritten = 63;

}  // namespace simrun::traces
