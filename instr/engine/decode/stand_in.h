// Instructions that are newer than the decoder library (Zydis 4.0) are decoded as an older one with operands of the same kind, and copied as they
// are. Intel Architecture Instruction Set Extensions Programming Reference (319433): AVX-IFMA, AVX-VNNI-INT8 and -INT16, AVX-NE-CONVERT, SHA512,
// SM3, SM4, CMPccXADD, AMX-FP16, AMX-COMPLEX. Internal to this folder.
#pragma once

#include <cstdint>

#include "instr/engine/decode/instruction.h"

namespace simrun::engine {

struct StandIn {
  uint8_t bytes[15];   // of the older instruction, as long as the newer one
  bool compares_and_adds;
};

// `code`, of which `available` bytes can be read, does not decode: is it one of those? Any time.
bool find_stand_in(const uint8_t* code, uint32_t available, StandIn& out);

// What CMPccXADD does beyond its stand-in: it reads its first register, and its memory is read and written in one, locked.
void complete_compare_and_add(Instruction& out);

}  // namespace simrun::engine
