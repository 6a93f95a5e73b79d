// Vector references whose lanes are decided at run time: gathers and scatters, and everything under a mask.
//
// A masked load references only its active lanes as far as faults tell: the manuals suppress them per lane for all
// exception classes but those named "NF" (SDM vol. 2, 2.8), whose instructions read the whole source whatever the mask
// says. A masked store writes only active lanes, without exception.
#include <algorithm>

#include "instr/engine/decode/zydis_view.h"

namespace simrun::engine {
namespace {

using border::OperandForm;
using border::OperandKind;

const ZydisDecodedOperand* explicit_memory(const ZydisView& view) {
  for (const ZydisDecodedOperand& o : view)
    if (is_memory(o) && !is_hidden(o)) return &o;
  return nullptr;
}

uint8_t mask_number(ZydisRegister k) {
  return k > ZYDIS_REGISTER_K0 && k <= ZYDIS_REGISTER_K7 ? static_cast<uint8_t>(k - ZYDIS_REGISTER_K0) : kNoRegister;
}

// The knights' vgatherpf*, vscatterpf*: opcodes c6 and c7 (even: dword indices). All others: 90..93 and a0..a3
// (likewise).
void decode_gather(const ZydisView& view, const ZydisDecodedOperand& o, Instruction& out) {
  const bool writes = o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
  const bool prefetches = (view.insn.opcode & 0xfe) == 0xc6;
  const OperandKind kind = prefetches ? OperandKind::kPrefetch : writes ? OperandKind::kStore : OperandKind::kLoad;
  MemoryOperand& m = add_memory_operand(out, kind, o.size / 8);
  set_address(view, o, m);
  m.form = OperandForm::kVectorIndex;
  m.index_bytes = view.insn.opcode & 1 ? 8 : 4;
  m.vector_bytes = vector_part(o.mem.index).bytes;
  const uint32_t vector_bytes = view.insn.avx.vector_length / 8;
  m.lanes = static_cast<uint8_t>(vector_bytes / std::max<uint32_t>(m.index_bytes, m.size));
  if (view.insn.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
    m.mask_register = mask_number(view.insn.avx.mask.reg);
  } else {  // AVX2: operands are destination, memory, mask
    m.mask_register = vector_part(view.operands[2].reg.value).number;
    m.mask_lane = static_cast<uint8_t>(m.size);
  }
}

// Mask in a vector register, a lane active when its top bit is set.
void add_vector_masked(const ZydisView& view, const ZydisDecodedOperand& o, OperandKind kind, uint32_t lane,
                       ZydisRegister mask, Instruction& out) {
  MemoryOperand& m = add_memory_operand(out, kind, lane);
  set_address(view, o, m);
  m.form = OperandForm::kMasked;
  m.mask_register = vector_part(mask).number;
  m.vector_bytes = vector_part(mask).bytes;
  m.mask_lane = static_cast<uint8_t>(lane);
  m.lanes = static_cast<uint8_t>(m.vector_bytes / lane);
}

// vmaskmov*, vpmaskmov*: the mask is the second operand of the load, also of the store. maskmovq, maskmovdqu: to [rdi],
// by bytes.
bool decode_vector_masked(const ZydisView& view, Instruction& out) {
  switch (view.mnemonic()) {
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ: {
      const bool store = is_memory(view.operands[0]);
      const bool wide = view.mnemonic() == ZYDIS_MNEMONIC_VMASKMOVPD || view.mnemonic() == ZYDIS_MNEMONIC_VPMASKMOVQ;
      add_vector_masked(view, *explicit_memory(view), store ? OperandKind::kStore : OperandKind::kLoad, wide ? 8 : 4,
                        view.operands[1].reg.value, out);
      return true;
    }
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
      for (const ZydisDecodedOperand& o : view)
        if (is_memory(o))
          add_vector_masked(view, o, OperandKind::kNonTemporalStore, 1, view.operands[1].reg.value, out);
      return true;
    default:
      return false;
  }
}

bool reads_whole_source(const ZydisView& view) {
  switch (view.insn.meta.exception_class) {
    case ZYDIS_EXCEPTION_CLASS_E1NF:
    case ZYDIS_EXCEPTION_CLASS_E2NF:
    case ZYDIS_EXCEPTION_CLASS_E3NF:
    case ZYDIS_EXCEPTION_CLASS_E4NF:
    case ZYDIS_EXCEPTION_CLASS_E5NF:
    case ZYDIS_EXCEPTION_CLASS_E6NF:
    case ZYDIS_EXCEPTION_CLASS_E9NF:
    case ZYDIS_EXCEPTION_CLASS_E10NF:
    case ZYDIS_EXCEPTION_CLASS_E11NF:
      return true;
    default:
      break;
  }
  switch (view.mnemonic()) {
    // Four consecutive registers against one 16-byte source: its elements do not correspond to lanes.
    case ZYDIS_MNEMONIC_V4FMADDPS:
    case ZYDIS_MNEMONIC_V4FNMADDPS:
    case ZYDIS_MNEMONIC_V4FMADDSS:
    case ZYDIS_MNEMONIC_V4FNMADDSS:
    case ZYDIS_MNEMONIC_VP4DPWSSD:
    case ZYDIS_MNEMONIC_VP4DPWSSDS:
    // E4NF in the manual and on the processor, E4 in Zydis.
    case ZYDIS_MNEMONIC_VCVTNE2PS2BF16:
    case ZYDIS_MNEMONIC_VDBPSADBW:
    case ZYDIS_MNEMONIC_VGF2P8AFFINEQB:
    case ZYDIS_MNEMONIC_VGF2P8AFFINEINVQB:
      return true;
    default:
      return false;
  }
}

bool is_packed(ZydisMnemonic m) {
  switch (m) {
    case ZYDIS_MNEMONIC_VCOMPRESSPS:
    case ZYDIS_MNEMONIC_VCOMPRESSPD:
    case ZYDIS_MNEMONIC_VPCOMPRESSB:
    case ZYDIS_MNEMONIC_VPCOMPRESSW:
    case ZYDIS_MNEMONIC_VPCOMPRESSD:
    case ZYDIS_MNEMONIC_VPCOMPRESSQ:
    case ZYDIS_MNEMONIC_VEXPANDPS:
    case ZYDIS_MNEMONIC_VEXPANDPD:
    case ZYDIS_MNEMONIC_VPEXPANDB:
    case ZYDIS_MNEMONIC_VPEXPANDW:
    case ZYDIS_MNEMONIC_VPEXPANDD:
    case ZYDIS_MNEMONIC_VPEXPANDQ:
      return true;
    default:
      return false;
  }
}

// Mask bits that govern the memory operand: as many as the register side and the memory side can both hold. (A dot
// product has more elements in memory than lanes; a narrowing conversion has room for more lanes in its destination
// than it fills.)
uint32_t lanes_of(const ZydisView& view, const ZydisDecodedOperand& memory) {
  uint32_t lanes = std::max<uint32_t>(memory.element_count, 1);
  const bool into_mask = is_register(view.operands[0]) && !vector_part(view.operands[0].reg.value).bytes;
  if (into_mask) return lanes;  // comparisons: a result bit per element in memory
  for (const ZydisDecodedOperand& o : view)
    if (is_register(o) && !is_hidden(o) && vector_part(o.reg.value).bytes)
      lanes = std::min<uint32_t>(lanes, std::max<uint32_t>(o.element_count, 1));
  return lanes;
}

void decode_masked(const ZydisView& view, const ZydisDecodedOperand& o, Instruction& out) {
  // No EVEX instruction both reads and writes memory; merging under a mask is not a read.
  const bool store = o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
  MemoryOperand& m = add_memory_operand(out, store ? OperandKind::kStore : OperandKind::kLoad, o.size / 8);
  set_address(view, o, m);
  const uint8_t mask = mask_number(view.insn.avx.mask.reg);
  if (mask == kNoRegister || view.insn.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID) return;
  if (!store && reads_whole_source(view)) return;
  const uint32_t lanes = lanes_of(view, o);
  m.form = OperandForm::kMasked;
  m.lanes = static_cast<uint8_t>(lanes);
  m.size = m.size / lanes;
  m.mask_register = mask;
  m.packed = is_packed(view.mnemonic());
}

}  // namespace

bool decode_vector_operands(const ZydisView& view, Instruction& out) {
  if (decode_vector_masked(view, out)) return true;
  const bool vex = view.insn.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;
  const bool evex = view.insn.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
  if (!vex && !evex) return false;
  const ZydisDecodedOperand* o = explicit_memory(view);
  if (!o) return false;
  if (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
    decode_gather(view, *o, out);
    return true;
  }
  if (!evex || mask_number(view.insn.avx.mask.reg) == kNoRegister) return false;
  decode_masked(view, *o, out);
  return true;
}

}  // namespace simrun::engine
