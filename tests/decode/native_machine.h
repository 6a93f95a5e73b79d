// Runs one instruction on the real processor from a given register, flag, vector and memory state, and tells what
// became of them. Code and memory lie at fixed low addresses, so that rip-relative and 32-bit addressing reach them
// too.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/address.h"

namespace simrun::engine {

struct MachineState {
  alignas(64) std::array<std::array<uint8_t, 64>, 32> zmm;
  std::array<uint64_t, 8> k;
  std::array<uint64_t, 16> gpr;  // by hardware number
  uint64_t flags;                // rflags
};

struct Outcome {
  int signal;              // 0: ran to its end; the rest is then valid
  uint64_t fault_address;  // signal != 0 (0 for a general-protection fault)
  MachineState after;
  std::array<uint8_t, 160> x87;  // the start of the fxsave image without instruction and data pointers
  std::vector<uint8_t> memory;   // the writable pages
};

// The pages that instructions may reference; everything for a megabyte around them is inaccessible.
inline constexpr uint64_t kPageBytes = 4096;
inline constexpr uint64_t kWritable = 0x20000000, kWritableBytes = 2 * kPageBytes;
inline constexpr uint64_t kReadOnly = 0x20010000, kReadOnlyBytes = 2 * kPageBytes;
inline constexpr uint64_t kReserved = kWritable - 0x100000, kReservedBytes = 0x300000;

class NativeMachine {
 public:
  NativeMachine();
  ~NativeMachine();
  NativeMachine(const NativeMachine&) = delete;

  // Where run() puts the instruction.
  AppAddress slot() const { return slot_; }
  // With vector state (AVX-512); without, MachineState::zmm and k are neither loaded nor stored.
  bool has_vectors() const { return has_vectors_; }
  uint64_t fs_base() const;

  // Executes `length` bytes once; they must end without a jump out of them. `memory` (kWritableBytes bytes) is the
  // content of the writable pages; the read-only ones hold zeroes.
  void run(const uint8_t* code, int length, const MachineState& before, const std::vector<uint8_t>& memory,
           Outcome& out);

 private:
  void run_once(const uint8_t* code, int length, const MachineState& before, const std::vector<uint8_t>& memory,
                Outcome& out);
  void build();
  uint8_t* code_;
  AppAddress slot_;
  bool has_vectors_;
  void (*entry_)();
};

}  // namespace simrun::engine
