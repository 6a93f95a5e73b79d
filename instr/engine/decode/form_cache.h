// Decoding by remembered forms. Programs are written in a few thousand forms of instructions, which differ in displacements and branch
// distances only: what Zydis said of the first of a form is kept, and the others are that with other numbers. A form is remembered only
// after a second decoding, with other numbers at another place, has shown that they enter it as supposed.
//
// Measured (callgrind, bench/translate): 2,260 instructions for a decoding by Zydis and the steps behind it, 300 for a remembered form,
// and 92 of 100 are remembered. cc1plus in null mode, processor time to native: 2.73 before, 2.40 with it (the same minute).
#pragma once

#include <array>
#include <cstdint>

#include "instr/engine/decode/instruction.h"

namespace simrun::engine {

class FormCache {
 public:
  // As the free function `decode`. Not thread-safe: whoever owns the cache has a lock.
  bool decode(const uint8_t* code, uint32_t available, AppAddress pc, Instruction& out);

  // Where an instruction's numbers are that its form does not depend on.
  struct Shape {
    uint8_t length;
    uint8_t from;        // offset of the displacement (of a branch: the distance), and of the immediate behind it that the form ignores
    uint8_t disp_bytes;  // 0, 1, 4
    uint8_t free_bytes;  // of both
    bool branch;
  };
  // Of the forms that compilers use; false for others. Reads up to 15 bytes.
  static bool shape_of(const uint8_t* code, Shape& out);

 private:
  struct Entry {
    std::array<uint64_t, 2> key;      // the bytes without the numbers, and the length
    Instruction instruction;          // with a displacement and a place of 0
    uint8_t operands_with_disp;       // bit k: memory[k].disp has the displacement in it
    bool distance_with_disp, branch, rip_relative, usable;
  };
  static constexpr uint32_t kSlots = 8192, kEntries = 4096;

  static void apply(const Entry& entry, const Shape& shape, const uint8_t* code, AppAddress pc, Instruction& out);
  static void learn(Entry& entry, const Shape& shape, const uint8_t* code, AppAddress pc, const Instruction& first);

  Entry& entry_for(uint16_t& slot);

  // By hash, 0 or one more than the index of the entry: those lie side by side, so that a short run touches few pages.
  std::array<uint16_t, kSlots> slots_{};
  uint32_t used_ = 0;
  std::array<Entry, kEntries> entries_;
};

}  // namespace simrun::engine
