// decode(): one pass of Zydis, then one small step per group of fields. Runs in the target process while it translates:
// no allocation, no formatting, no lock, no static initialiser.
#include <algorithm>
#include <cstring>

#include "instr/engine/decode/stand_in.h"
#include "instr/engine/decode/zydis_view.h"

namespace simrun::engine {

bool g_narrow_branches;

namespace {

// As ZydisDecoderInit leaves it for 64-bit code, but without MPX: no Linux kernel enables it since 5.6, and then its
// opcodes are nops that reference nothing. A constant, so that decode() needs no initialisation; a test compares it
// with ZydisDecoderInit.
constexpr ZydisDecoder make_decoder(bool narrow_branches) {
  ZydisDecoder d{};
  d.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
  d.stack_width = ZYDIS_STACK_WIDTH_64;
  d.decoder_mode[ZYDIS_DECODER_MODE_CET] = ZYAN_TRUE;
  d.decoder_mode[ZYDIS_DECODER_MODE_LZCNT] = ZYAN_TRUE;
  d.decoder_mode[ZYDIS_DECODER_MODE_TZCNT] = ZYAN_TRUE;
  d.decoder_mode[ZYDIS_DECODER_MODE_WBNOINVD] = ZYAN_TRUE;
  d.decoder_mode[ZYDIS_DECODER_MODE_CLDEMOTE] = ZYAN_TRUE;
  d.decoder_mode[ZYDIS_DECODER_MODE_AMD_BRANCHES] = narrow_branches;
  return d;
}
constexpr ZydisDecoder kDecoder = make_decoder(false), kNarrowingDecoder = make_decoder(true);

bool has_repeat_prefix(const ZydisDecodedInstruction& insn) {
  for (int i = 0; i < insn.raw.prefix_count; ++i)
    if (insn.raw.prefixes[i].value == 0xf2 || insn.raw.prefixes[i].value == 0xf3) return true;
  return false;
}

// Zydis 4.0 takes the "no base" of a SIB byte (mod 00, base 101) for r13d when an address-size prefix meets REX.B.
void repair_operands(const ZydisDecodedInstruction& insn, ZydisDecodedOperand* operands) {
  const auto& modrm = insn.raw.modrm;
  if (insn.address_width != 32 || modrm.mod != 0 || modrm.rm != 4 || insn.raw.sib.base != 5) return;
  for (int o = 0; o < insn.operand_count; ++o) {
    if (!is_memory(operands[o]) || operands[o].mem.base != ZYDIS_REGISTER_R13D) continue;
    operands[o].mem.base = ZYDIS_REGISTER_NONE;
    operands[o].mem.disp.has_displacement = ZYAN_TRUE;
    operands[o].mem.disp.value = insn.raw.disp.value;
  }
}

void decode_prefix(const ZydisDecodedInstruction& insn, Instruction& out) {
  switch (insn.encoding) {
    case ZYDIS_INSTRUCTION_ENCODING_VEX:
      out.prefix = insn.raw.vex.size == 2 ? Instruction::Prefix::kVex2 : Instruction::Prefix::kVex3;
      out.prefix_offset = insn.raw.vex.offset;
      return;
    case ZYDIS_INSTRUCTION_ENCODING_EVEX:
      out.prefix = Instruction::Prefix::kEvex;
      out.prefix_offset = insn.raw.evex.offset;
      return;
    case ZYDIS_INSTRUCTION_ENCODING_XOP:
      out.prefix = Instruction::Prefix::kXop;
      out.prefix_offset = insn.raw.xop.offset;
      return;
    default:
      if (!(insn.attributes & ZYDIS_ATTRIB_HAS_REX)) return;
      out.prefix = Instruction::Prefix::kRex;
      out.prefix_offset = insn.raw.rex.offset;
  }
}

// Asked of every memory operand, also of those that reference nothing (lea, nop): their bytes need relocation all the
// same.
void decode_rip_relative(const ZydisView& view, Instruction& out) {
  for (const ZydisDecodedOperand& o : view) {
    if (!is_memory(o) || (o.mem.base != ZYDIS_REGISTER_RIP && o.mem.base != ZYDIS_REGISTER_EIP)) continue;
    out.rip_relative = true;
    out.modrm_offset = view.insn.raw.modrm.offset;
    out.disp_offset = view.insn.raw.disp.offset;
    return;
  }
}

// SIMD floating-point exceptions (#XM), by the exception classes of the SDM, vol. 2, 2.4 and 2.8.
bool raises_simd_exceptions(ZydisExceptionClass c) {
  switch (c) {
    case ZYDIS_EXCEPTION_CLASS_SSE2:
    case ZYDIS_EXCEPTION_CLASS_SSE3:
    case ZYDIS_EXCEPTION_CLASS_AVX2:
    case ZYDIS_EXCEPTION_CLASS_AVX3:
    case ZYDIS_EXCEPTION_CLASS_E2:
    case ZYDIS_EXCEPTION_CLASS_E2NF:
    case ZYDIS_EXCEPTION_CLASS_E3:
    case ZYDIS_EXCEPTION_CLASS_E3NF:
    case ZYDIS_EXCEPTION_CLASS_E11:
    case ZYDIS_EXCEPTION_CLASS_E11NF:
      return true;
    default:
      return false;
  }
}

bool writes_segment_register(const ZydisView& view) {
  for (const ZydisDecodedOperand& o : view)
    if (is_register(o) && o.reg.value >= ZYDIS_REGISTER_ES && o.reg.value <= ZYDIS_REGISTER_GS &&
        (o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
      return true;
  return false;
}

// #UD of an extension that this processor lacks does not count: it may befall any instruction.
bool may_fault(const ZydisView& view, const Instruction& out) {
  if (out.memory_operands || out.untraced_memory) return true;
  if (out.flow == Flow::kInterrupt || out.flow == Flow::kUnsupported) return true;
  if (raises_simd_exceptions(view.insn.meta.exception_class) || writes_segment_register(view)) return true;
  switch (view.insn.meta.isa_ext) {
    case ZYDIS_ISA_EXT_X87:  // a pending unmasked exception of an earlier x87 instruction is raised by the next x87 or
                             // MMX one
    case ZYDIS_ISA_EXT_MMX:
    case ZYDIS_ISA_EXT_AMD3DNOW:
      return true;
    default:
      break;
  }
  switch (view.mnemonic()) {
    case ZYDIS_MNEMONIC_DIV:
    case ZYDIS_MNEMONIC_IDIV:
    case ZYDIS_MNEMONIC_IN:
    case ZYDIS_MNEMONIC_OUT:
    case ZYDIS_MNEMONIC_CLI:
    case ZYDIS_MNEMONIC_STI:
    case ZYDIS_MNEMONIC_RDTSC:  // prctl(PR_SET_TSC)
    case ZYDIS_MNEMONIC_RDTSCP:
    case ZYDIS_MNEMONIC_RDPMC:
    case ZYDIS_MNEMONIC_RDPRU:
    case ZYDIS_MNEMONIC_CPUID:  // arch_prctl(ARCH_CPUID)
    case ZYDIS_MNEMONIC_XGETBV:
    case ZYDIS_MNEMONIC_WRPKRU:
    case ZYDIS_MNEMONIC_RDPKRU:
    case ZYDIS_MNEMONIC_WRFSBASE:
    case ZYDIS_MNEMONIC_WRGSBASE:
    case ZYDIS_MNEMONIC_SLDT:  // user-mode instruction prevention
    case ZYDIS_MNEMONIC_STR:
    case ZYDIS_MNEMONIC_SMSW:
    case ZYDIS_MNEMONIC_INCSSPD:
    case ZYDIS_MNEMONIC_INCSSPQ:
    case ZYDIS_MNEMONIC_SAVEPREVSSP:
      return true;
    default:
      return view.insn.meta.category == ZYDIS_CATEGORY_AMX_TILE || view.insn.meta.category == ZYDIS_CATEGORY_UINTR ||
             view.insn.meta.category == ZYDIS_CATEGORY_WAITPKG;
  }
}

bool writes_register(const ZydisView& view, ZydisRegister segment) {
  for (const ZydisDecodedOperand& o : view)
    if (is_register(o) && o.reg.value == segment && (o.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) return true;
  return false;
}

// The bases of fs and gs: also a load of the selector changes them.
void decode_segment_bases(const ZydisView& view, Instruction& out) {
  if (view.insn.meta.category == ZYDIS_CATEGORY_IOSTRINGOP) return;   // traps in user mode
  for (int i = 0; i < out.memory_operands; ++i) {
    out.uses_fs = out.uses_fs || (out.memory[i].flags & border::kFsBase);
    out.uses_gs = out.uses_gs || (out.memory[i].flags & border::kGsBase);
  }
  const auto& modrm = view.insn.raw.modrm;
  if ((out.uses_fs || out.uses_gs) && (view.insn.attributes & ZYDIS_ATTRIB_HAS_MODRM) && modrm.mod != 3) out.modrm_offset = modrm.offset;
  switch (view.mnemonic()) {
    case ZYDIS_MNEMONIC_RDFSBASE:
      out.is_base_instruction = true;
      return;
    case ZYDIS_MNEMONIC_RDGSBASE:
      out.uses_gs = out.is_base_instruction = true;
      return;
    case ZYDIS_MNEMONIC_SWAPGS:
      out.uses_gs = true;
      return;
    case ZYDIS_MNEMONIC_WRGSBASE:
      out.uses_gs = out.writes_gs_base = out.is_base_instruction = true;
      return;
    case ZYDIS_MNEMONIC_WRFSBASE:
      out.writes_fs_base = out.is_base_instruction = true;
      return;
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_LFS:
    case ZYDIS_MNEMONIC_LGS:
      out.writes_fs_base = writes_register(view, ZYDIS_REGISTER_FS);
      out.writes_gs_base = writes_register(view, ZYDIS_REGISTER_GS);
      out.uses_gs = out.uses_gs || out.writes_gs_base;
      return;
    default:
      return;
  }
}

// What Zydis says of `zydis_code`, which stands for `code` of the same length.
bool decode_as(const uint8_t* zydis_code, const uint8_t* code, uint32_t available, AppAddress pc, Instruction& out) {
  out = Instruction{};
  out.pc = pc;
  out.flow = Flow::kUnsupported;
  out.distance_dest = out.distance_source = kNoRegister;

  const ZydisDecoder& decoder = g_narrow_branches ? kNarrowingDecoder : kDecoder;
  ZydisDecodedInstruction insn;
  ZydisDecoderContext context;
  const ZyanUSize bytes = std::min<ZyanUSize>(available, ZYDIS_MAX_INSTRUCTION_LENGTH);
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, zydis_code, bytes, &insn))) return false;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &insn, operands, insn.operand_count))) return false;

  repair_operands(insn, operands);

  out.length = insn.length;
  std::memcpy(out.bytes, code, insn.length);
  const bool string = insn.meta.category == ZYDIS_CATEGORY_STRINGOP || insn.meta.category == ZYDIS_CATEGORY_IOSTRINGOP;
  const ZydisView view{insn, operands, pc, string, string && has_repeat_prefix(insn)};
  decode_prefix(insn, out);
  decode_rip_relative(view, out);
  decode_control_flow(view, out);
  decode_memory_operands(view, out);
  decode_register_use(view, out);
  decode_flag_use(view, out);
  decode_known_distance(view, out);
  decode_segment_bases(view, out);
  out.may_fault = may_fault(view, out);
  return true;
}

}  // namespace

bool decode(const uint8_t* code, uint32_t available, AppAddress pc, Instruction& out) {
  if (decode_as(code, code, available, pc, out)) return true;
  StandIn stand_in;
  if (!find_stand_in(code, available, stand_in)) return false;
  if (!decode_as(stand_in.bytes, code, std::min<uint32_t>(available, sizeof stand_in.bytes), pc, out)) return false;
  if (stand_in.compares_and_adds) complete_compare_and_add(out);
  return true;
}

bool is_too_long(const uint8_t* code, uint32_t available) {
  ZydisDecodedInstruction insn;
  ZydisDecoderContext context;
  return ZydisDecoderDecodeInstruction(&kDecoder, &context, code, available, &insn) == ZYDIS_STATUS_INSTRUCTION_TOO_LONG;
}

bool is_cut_off(const uint8_t* code, uint32_t available, bool knows_evex) {
  // Zydis refuses some prefixes before it has seen what follows; the processor wants an opcode and a ModRM byte behind VEX and EVEX.
  constexpr uint8_t kVex2 = 0xc5, kVex3 = 0xc4, kEvex = 0x62;
  const auto is_prefix = [](uint8_t byte) {
    return (byte & 0xf0) == 0x40 || (byte & 0xe7) == 0x26 || (byte >= 0x64 && byte <= 0x67) || byte == 0xf0 || byte == 0xf2 || byte == 0xf3;
  };
  uint32_t at = 0;
  while (at < available && is_prefix(code[at])) ++at;
  const uint32_t rest = available - at;
  if (rest != 0 && code[at] == kEvex && !knows_evex) return rest < 2;   // it is BOUND then, which does not exist, with a ModRM byte
  if (rest != 0 && (code[at] == kVex2 || code[at] == kVex3 || code[at] == kEvex)) {
    const uint32_t prefix = code[at] == kVex2 ? 2 : code[at] == kVex3 ? 3 : 4;
    if (rest < prefix + 2) return true;
  }
  ZydisDecodedInstruction insn;
  ZydisDecoderContext context;
  return ZydisDecoderDecodeInstruction(&kDecoder, &context, code, available, &insn) == ZYDIS_STATUS_NO_MORE_DATA;
}

}  // namespace simrun::engine
