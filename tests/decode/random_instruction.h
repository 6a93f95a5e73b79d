// Random instructions that can be run in place, and machine states in which their memory references land where a test
// wants them.
#pragma once

#include <Zydis/Zydis.h>

#include <random>
#include <string>

#include "instr/engine/decode/instruction.h"
#include "tests/decode/native_machine.h"

namespace simrun::engine {

struct Sample {
  Instruction instruction;
  ZydisMnemonic mnemonic;
  FlagSet undefined_flags;  // by the manuals (Zydis's table)
  uint8_t broadcast_mask;   // a broadcast from memory under this mask register reads nothing when its bits are all
                            // clear; else kNoRegister
  uint64_t broadcast_bits;
  bool deterministic;        // same state, same result: not rdtsc, rdrand, cpuid, ...
  std::string name() const;  // bytes and mnemonic
};

class RandomInstructions {
 public:
  RandomInstructions(uint64_t seed, AppAddress pc, uint64_t fs_base) : random_(seed), pc_(pc), fs_base_(fs_base) {}

  // The next instruction that goes on behind itself (direct jumps are made to) and leaves alone what the test itself
  // lives on.
  Sample next();

  // Registers, flags (DF too), vectors and masks at random; small counts for rep; indices of gathers small; then base
  // registers and rip-relative displacements such that each operand lies at target() or so. False: could not be brought
  // about. `target` is called once for each memory operand with its total size.
  template <typename Target>
  bool aim(Sample& sample, MachineState& state, Target target) {
    randomize(sample, state);
    for (int m = 0; m < sample.instruction.memory_operands; ++m) {
      const MemoryOperand& o = sample.instruction.memory[m];
      if (!aim_operand(sample, m, target(o), state)) return false;
    }
    return true;
  }

  uint64_t bits() { return random_(); }
  uint64_t below(uint64_t n) { return random_() % n; }

 private:
  void randomize(const Sample& sample, MachineState& state);
  bool aim_operand(Sample& sample, int operand, uint64_t target, MachineState& state);
  uint64_t interesting_number();
  std::mt19937_64 random_;
  AppAddress pc_;
  uint64_t fs_base_;
};

// Bytes from the lowest to the highest address that the operand may touch (iterations of a rep excluded).
uint64_t extent(const MemoryOperand& o);

}  // namespace simrun::engine
