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

// What is remembered of a form. The key: its bytes without the numbers, and its length.
struct Form {
  using Key = std::array<uint64_t, 2>;
  Key key;
  Instruction instruction;      // with a displacement and a place of 0
  uint8_t operands_with_disp;   // bit k: memory[k].disp has the displacement in it
  bool distance_with_disp, rip_relative, usable;
};

class KnownForms;

class FormCache {
 public:
  // As the free function `decode`. Not thread-safe: whoever owns the cache has a lock. `known`: those are looked up first.
  bool decode(const uint8_t* code, uint32_t available, AppAddress pc, Instruction& out, const KnownForms* known = nullptr);

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
  // Reads 15 bytes.
  static Form::Key key_of(const uint8_t* code, const Shape& shape);

  static void apply(const Form& form, const Shape& shape, const uint8_t* code, AppAddress pc, Instruction& out);
  // All but the key. `first` is what the ordinary decoder says of `code` at `pc`.
  static void learn(Form& form, const Shape& shape, const uint8_t* code, AppAddress pc, const Instruction& first);

 private:
  static constexpr uint32_t kSlots = 8192, kForms = 4096;

  Form& form_for(uint16_t& slot);

  // By hash, 0 or one more than the index of the form: those lie side by side, so that a short run touches few pages.
  std::array<uint16_t, kSlots> slots_{};
  uint32_t used_ = 0;
  std::array<Form, kForms> forms_;
};

}  // namespace simrun::engine
