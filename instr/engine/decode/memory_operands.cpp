// Memory operands of everything but the stack (stack_operands.cpp) and vectors with lanes of their own
// (vector_operands.cpp).
#include <bit>

#include "instr/engine/decode/zydis_view.h"

namespace simrun::engine {
namespace {

using border::OperandForm;
using border::OperandKind;

uint8_t segment_flags(ZydisRegister segment) {
  // Overrides by cs, ds, es and ss are ignored in 64-bit mode; Zydis may still report them.
  if (segment == ZYDIS_REGISTER_FS) return border::kFsBase;
  if (segment == ZYDIS_REGISTER_GS) return border::kGsBase;
  return 0;
}

// For instructions whose address Zydis does not give as a memory operand.
uint8_t segment_flags_of_prefixes(const ZydisDecodedInstruction& insn) {
  uint8_t flags = 0;
  for (int i = 0; i < insn.raw.prefix_count; ++i) {
    if (insn.raw.prefixes[i].value == 0x64) flags = border::kFsBase;
    if (insn.raw.prefixes[i].value == 0x65) flags = border::kGsBase;
  }
  return flags;
}

OperandKind kind_of(const ZydisDecodedOperand& o) {
  const bool reads = o.actions & ZYDIS_OPERAND_ACTION_MASK_READ;
  const bool writes = o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
  if (reads && writes) return OperandKind::kReadModifyWrite;
  return writes ? OperandKind::kStore : OperandKind::kLoad;
}

// Kinds that follow from the mnemonic alone; `generic` for all others.
OperandKind special_kind(ZydisMnemonic m, OperandKind generic) {
  switch (m) {
    case ZYDIS_MNEMONIC_PREFETCH:
    case ZYDIS_MNEMONIC_PREFETCHNTA:
    case ZYDIS_MNEMONIC_PREFETCHT0:
    case ZYDIS_MNEMONIC_PREFETCHT1:
    case ZYDIS_MNEMONIC_PREFETCHT2:
    case ZYDIS_MNEMONIC_PREFETCHW:
    case ZYDIS_MNEMONIC_PREFETCHWT1:
      return OperandKind::kPrefetch;
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_CLWB:
    case ZYDIS_MNEMONIC_CLDEMOTE:
      return OperandKind::kFlush;
    case ZYDIS_MNEMONIC_MOVNTI:
    case ZYDIS_MNEMONIC_MOVNTQ:
    case ZYDIS_MNEMONIC_MOVNTDQ:
    case ZYDIS_MNEMONIC_MOVNTPS:
    case ZYDIS_MNEMONIC_MOVNTPD:
    case ZYDIS_MNEMONIC_MOVNTSS:
    case ZYDIS_MNEMONIC_MOVNTSD:
    case ZYDIS_MNEMONIC_VMOVNTDQ:
    case ZYDIS_MNEMONIC_VMOVNTPS:
    case ZYDIS_MNEMONIC_VMOVNTPD:
    case ZYDIS_MNEMONIC_MOVDIRI:
      return OperandKind::kNonTemporalStore;
    case ZYDIS_MNEMONIC_MOVNTDQA:
    case ZYDIS_MNEMONIC_VMOVNTDQA:
      return OperandKind::kNonTemporalLoad;
    default:
      return generic;
  }
}

void add_string(const ZydisView& view, OperandKind kind, uint8_t base, uint8_t segment, Instruction& out) {
  MemoryOperand& m = add_memory_operand(out, kind, view.insn.operand_width / 8);
  m.base = base;
  m.form = view.repeats ? OperandForm::kRepeatString : OperandForm::kAddress;
  m.flags = segment | (view.insn.address_width == 32 ? border::kAddress32 : 0);
}

// The source may have an fs or gs override, the destination always lies in es, whose base is 0.
void decode_string_operands(const ZydisView& view, Instruction& out) {
  const uint8_t source = segment_flags_of_prefixes(view.insn);
  switch (view.insn.opcode & 0xfe) {
    case 0xa4:  // movs
      add_string(view, OperandKind::kLoad, kRsi, source, out);
      add_string(view, OperandKind::kStore, kRdi, 0, out);
      return;
    case 0xa6:  // cmps
      add_string(view, OperandKind::kLoad, kRsi, source, out);
      add_string(view, OperandKind::kLoad, kRdi, 0, out);
      return;
    case 0xaa:  // stos
    case 0x6c:  // ins
      add_string(view, OperandKind::kStore, kRdi, 0, out);
      return;
    case 0xac:  // lods
    case 0x6e:  // outs
      add_string(view, OperandKind::kLoad, kRsi, source, out);
      return;
    default:  // 0xae: scas
      add_string(view, OperandKind::kLoad, kRdi, 0, out);
      return;
  }
}

// [register], for instructions that name the register rather than the memory.
void add_at_register(const ZydisView& view, OperandKind kind, uint32_t size, uint8_t base, uint8_t segment,
                     Instruction& out) {
  MemoryOperand& m = add_memory_operand(out, kind, size);
  m.base = base;
  m.flags = segment | (view.insn.address_width == 32 ? border::kAddress32 : 0);
}

void add_xsave(const ZydisView& view, OperandKind kind, Instruction& out) {
  MemoryOperand& m = add_memory_operand(out, kind, 0);
  set_address(view, view.operands[0], m);
  m.form = OperandForm::kXsave;
}

// Rows of up to 64 bytes; the index register is the distance between them.
void add_tile(const ZydisView& view, OperandKind kind, Instruction& out) {
  const bool loads = kind == OperandKind::kLoad;
  MemoryOperand& m = add_memory_operand(out, kind, 64);
  set_address(view, view.operands[loads ? 1 : 0], m);
  m.form = OperandForm::kTile;
  m.tile = static_cast<uint8_t>(view.operands[loads ? 0 : 1].reg.value - ZYDIS_REGISTER_TMM0);
}

// xlat: rbx plus al, zero-extended.
void add_xlat(const ZydisView& view, Instruction& out) {
  add_at_register(view, OperandKind::kLoad, 1, kRbx, segment_flags_of_prefixes(view.insn), out);
  MemoryOperand& m = out.memory[out.memory_operands - 1];
  m.index = kRax;
  m.index_bytes = 1;
}

// movdir64b, enqcmd, enqcmds: 64 bytes from memory to the address in the first operand, which lies in es.
void add_line_move(const ZydisView& view, Instruction& out) {
  set_address(view, view.operands[1], add_memory_operand(out, OperandKind::kLoad, 64));
  add_at_register(view, OperandKind::kNonTemporalStore, 64, gpr_part(view.operands[0].reg.value).number, 0, out);
}

// True when the instruction was one whose references Zydis's operands do not give.
bool decode_irregular_operands(const ZydisView& view, Instruction& out) {
  const uint8_t segment = segment_flags_of_prefixes(view.insn);
  switch (view.mnemonic()) {
    case ZYDIS_MNEMONIC_XLAT:
      add_xlat(view, out);
      return true;
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
      add_xsave(view, OperandKind::kStore, out);
      return true;
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
      add_xsave(view, OperandKind::kLoad, out);
      return true;
    case ZYDIS_MNEMONIC_MOVDIR64B:
    case ZYDIS_MNEMONIC_ENQCMD:
      add_line_move(view, out);
      return true;
    case ZYDIS_MNEMONIC_CLZERO:  // stores the whole line that contains rax
      add_at_register(view, OperandKind::kNonTemporalStore, 1, kRax, segment, out);
      return true;
    case ZYDIS_MNEMONIC_MONITORX:
      add_at_register(view, OperandKind::kLoad, 1, kRax, segment, out);
      return true;
    case ZYDIS_MNEMONIC_UMONITOR:
      add_at_register(view, OperandKind::kLoad, 1, gpr_part(view.operands[0].reg.value).number, segment, out);
      return true;
    case ZYDIS_MNEMONIC_TILELOADD:
    case ZYDIS_MNEMONIC_TILELOADDT1:
      add_tile(view, OperandKind::kLoad, out);
      return true;
    case ZYDIS_MNEMONIC_TILESTORED:
      add_tile(view, OperandKind::kStore, out);
      return true;
    default:
      if (view.insn.meta.category != ZYDIS_CATEGORY_PADLOCK) return false;
      out.untraced_memory = true;
      return true;
  }
}

bool is_bit_test(ZydisMnemonic m) {
  return m == ZYDIS_MNEMONIC_BT || m == ZYDIS_MNEMONIC_BTS || m == ZYDIS_MNEMONIC_BTR || m == ZYDIS_MNEMONIC_BTC;
}

bool references_nothing(const ZydisView& view) {
  return view.mnemonic() == ZYDIS_MNEMONIC_NOP || view.mnemonic() == ZYDIS_MNEMONIC_LEA;
}

void decode_explicit_operand(const ZydisView& view, const ZydisDecodedOperand& o, Instruction& out) {
  const OperandKind kind = special_kind(view.mnemonic(), kind_of(o));
  const bool one_line = kind == OperandKind::kPrefetch || kind == OperandKind::kFlush;
  MemoryOperand& m = add_memory_operand(out, kind, one_line ? 1 : o.size / 8);
  set_address(view, o, m);
  if (is_bit_test(view.mnemonic()) && is_register(view.operands[1]))
    m.bit_offset = gpr_part(view.operands[1].reg.value).number;
  const bool locked = (view.insn.attributes & ZYDIS_ATTRIB_HAS_LOCK) || view.mnemonic() == ZYDIS_MNEMONIC_XCHG;
  if (locked) m.flags |= border::kLocked;
}

}  // namespace

MemoryOperand& add_memory_operand(Instruction& out, OperandKind kind, uint32_t size) {
  MemoryOperand& m = out.memory[out.memory_operands++];
  m.kind = kind;
  m.form = OperandForm::kAddress;
  m.base = m.index = m.mask_register = m.bit_offset = kNoRegister;
  m.size = size;
  return m;
}

void set_address(const ZydisView& view, const ZydisDecodedOperand& operand, MemoryOperand& out) {
  const auto& mem = operand.mem;
  out.flags = segment_flags(mem.segment);
  out.disp = mem.disp.has_displacement ? mem.disp.value : 0;
  if (view.insn.address_width == 32) out.flags |= border::kAddress32;
  if (mem.base == ZYDIS_REGISTER_RIP || mem.base == ZYDIS_REGISTER_EIP) {
    out.base = kRipRegister;
    out.disp = static_cast<int64_t>(raw(view.next_pc()) + static_cast<uint64_t>(out.disp));
    if (view.insn.address_width == 32) out.disp &= 0xffffffff;
    return;
  }
  if (mem.base != ZYDIS_REGISTER_NONE) out.base = gpr_part(mem.base).number;
  if (mem.index == ZYDIS_REGISTER_NONE) return;
  out.shift = static_cast<uint8_t>(std::countr_zero(mem.scale));
  const VectorPart vector = vector_part(mem.index);
  out.index = vector.bytes ? vector.number : gpr_part(mem.index).number;
}

void decode_memory_operands(const ZydisView& view, Instruction& out) {
  if (out.flow == Flow::kInterrupt || out.flow == Flow::kUnsupported || references_nothing(view)) return;
  if (view.string) return decode_string_operands(view, out);
  if (decode_stack_operands(view, out)) return;
  if (decode_vector_operands(view, out)) return;
  if (decode_irregular_operands(view, out)) return;
  for (const ZydisDecodedOperand& o : view)
    if (is_memory(o) && !is_hidden(o)) decode_explicit_operand(view, o, out);
}

}  // namespace simrun::engine
