#include "tests/decode/claimed_references.h"

#include <bit>
#include <cstring>

namespace simrun::engine {
namespace {

uint64_t truncated(const MemoryOperand& o, uint64_t address) {
  return o.flags & border::kAddress32 ? address & 0xffffffff : address;
}

uint64_t segment_base(const MemoryOperand& o, uint64_t fs_base) { return o.flags & border::kFsBase ? fs_base : 0; }

int64_t signed_lane(const uint8_t* at, int bytes) {
  uint64_t v = 0;
  std::memcpy(&v, at, static_cast<size_t>(bytes));
  const int unused = 64 - 8 * bytes;
  return static_cast<int64_t>(v << unused) >> unused;
}

// Without the segment base and without truncation.
uint64_t offset_of(const MemoryOperand& o, const MachineState& s) {
  uint64_t a = static_cast<uint64_t>(o.disp);
  if (o.base < 16) a += s.gpr[o.base];
  if (o.form != border::OperandForm::kVectorIndex && o.index != kNoRegister) {
    const uint64_t index = o.index_bytes == 1 ? s.gpr[o.index] & 0xff : s.gpr[o.index];
    a += index << o.shift;
  }
  if (o.bit_offset != kNoRegister) {
    const int64_t bits = signed_lane(reinterpret_cast<const uint8_t*>(&s.gpr[o.bit_offset]), static_cast<int>(o.size));
    a += static_cast<uint64_t>((bits >> std::countr_zero(8 * o.size)) * static_cast<int64_t>(o.size));
  }
  return a;
}

bool lane_active(const MemoryOperand& o, const MachineState& s, int lane) {
  if (o.mask_register == kNoRegister) return true;
  if (o.mask_lane == 0) return s.k[o.mask_register] >> lane & 1;
  return s.zmm[o.mask_register][static_cast<size_t>((lane + 1) * o.mask_lane - 1)] & 0x80;
}

void add_lanes(const MemoryOperand& o, const MachineState& s, uint64_t fs_base, std::vector<Reference>& out) {
  uint64_t packed = 0;
  for (int lane = 0; lane < o.lanes; ++lane) {
    if (!lane_active(o, s, lane)) continue;
    uint64_t a = offset_of(o, s);
    if (o.form == border::OperandForm::kVectorIndex) {
      const int64_t index = signed_lane(&s.zmm[o.index][static_cast<size_t>(lane * o.index_bytes)], o.index_bytes);
      a += static_cast<uint64_t>(index) << o.shift;
    } else {
      a += (o.packed ? packed++ : static_cast<uint64_t>(lane)) * o.size;
    }
    out.push_back({o.kind, truncated(o, a) + segment_base(o, fs_base), o.size});
  }
}

void add_iterations(const MemoryOperand& o, const MachineState& s, uint64_t fs_base, std::vector<Reference>& out) {
  const uint64_t count = o.flags & border::kAddress32 ? s.gpr[kRcx] & 0xffffffff : s.gpr[kRcx];
  const int64_t step = s.flags & 0x400 ? -static_cast<int64_t>(o.size) : static_cast<int64_t>(o.size);
  for (uint64_t n = 0; n < count && n < 64; ++n)
    out.push_back(
        {o.kind, truncated(o, offset_of(o, s) + n * static_cast<uint64_t>(step)) + segment_base(o, fs_base), o.size});
}

}  // namespace

uint64_t operand_address(const MemoryOperand& o, const MachineState& s, uint64_t fs_base) {
  return truncated(o, offset_of(o, s)) + segment_base(o, fs_base);
}

std::vector<Reference> claimed_references(const Instruction& i, const MachineState& s, uint64_t fs_base) {
  std::vector<Reference> out;
  for (int m = 0; m < i.memory_operands; ++m) {
    const MemoryOperand& o = i.memory[m];
    switch (o.form) {
      case border::OperandForm::kAddress:
        out.push_back({o.kind, operand_address(o, s, fs_base), o.size});
        break;
      case border::OperandForm::kRepeatString:
        add_iterations(o, s, fs_base, out);
        break;
      case border::OperandForm::kVectorIndex:
      case border::OperandForm::kMasked:
        add_lanes(o, s, fs_base, out);
        break;
      case border::OperandForm::kXsave:
      case border::OperandForm::kTile:
      case border::OperandForm::kRegisters:
        break;
    }
  }
  return out;
}

}  // namespace simrun::engine
