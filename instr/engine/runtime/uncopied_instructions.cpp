// What cannot run from the code cache: near branches of 16 bits (decode/instruction.h, g_narrow_branches), far transfers within the 64-bit code segment (Intel SDM vol. 2, RET, IRET, JMP, CALL; AMD APM vol. 3), and transactions, which abort at
// once where the processor has them. 32-bit code is refused: the engine decodes 64-bit code only.
#include "instr/engine/runtime/uncopied_instructions.h"

#include <Zydis/Zydis.h>
#include <asm/prctl.h>
#include <cpuid.h>

#include <cstring>
#include <mutex>
#include <optional>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/processor_features.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/decode/instruction.h"
#include "instr/engine/decode/known_features.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/runtime/single_step.h"
#include "instr/engine/signals/signals.h"
#include "instr/engine/translate/address_space.h"
#include "instr/engine/translate/code_access.h"
#include "instr/engine/translate/superblock.h"

namespace simrun::engine {
namespace {

// What iret sets at privilege level 3: all but IOPL, IF, VM and the virtual interrupt flags.
constexpr uint64_t kIretFlags = 0x254dd5, kNestedTask = 0x4000;
constexpr uint64_t kTrapInvalidOpcode = 6;

struct Uncopied {
  ZydisDecodedInstruction insn;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

  uint32_t width() const { return insn.operand_width / 8u; }   // of each thing on the stack, and of an offset in memory
  bool is_far() const { return insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR; }
};

void raise_invalid_opcode(ThreadContext* c) {
  siginfo_t info{};
  info.si_signo = SIGILL;
  info.si_code = ILL_ILLOPN;
  info.si_addr = reinterpret_cast<void*>(c->app.pc);
  raise_signal(c, info, {kTrapInvalidOpcode, 0, 0});
}

// AMD's far jumps and calls through memory take no 64-bit offset (APM vol. 3, JMP (Far)).
bool ignores_rex_w() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(0, &a, &b, &c, &d);
  return b != 0x756e6547;   // "Genu"ineIntel
}

// May the thread go on at this selector and address? If not, the fault is pending. A far jump or call looks at no privilege level (`mask`).
bool may_enter(ThreadContext* c, uint16_t selector, uint64_t pc, uint16_t mask) {
  if ((selector & mask) == (kUserCode32 & mask))
    fail("the program enters 32-bit code at %#lx by the far transfer at %#lx; simrun runs 64-bit code only", pc, c->app.pc);
  const bool good = (selector & mask) == (kUserCode & mask);
  const bool canonical = pc >> 47 == 0;
  if (!good || !canonical) raise_general_protection(c, good ? 0 : selector & ~3u);
  return good && canonical;
}

// The n-th thing on the stack; nothing when it cannot be read: the fault is pending then.
std::optional<uint64_t> on_stack(ThreadContext* c, uint32_t n, uint32_t width) {
  uint64_t value = 0;
  const uint64_t at = c->app.gpr[kRsp] + static_cast<uint64_t>(n) * width;
  if (read_app(&value, at, width)) return value;
  raise_bad_access(c, at, BadAccess::kRead, BySegment::kStack);
  return std::nullopt;
}

bool far_return(ThreadContext* c, const Uncopied& u) {
  const auto selector = on_stack(c, 1, u.width());   // read first, as AMD's Zen 4 does
  const auto pc = selector ? on_stack(c, 0, u.width()) : std::nullopt;
  if (!pc || !may_enter(c, static_cast<uint16_t>(*selector), *pc, 0xffff)) return false;
  const bool has_count = u.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  c->app.gpr[kRsp] += 2ull * u.width() + (has_count ? u.operands[0].imm.value.u : 0);
  c->app.pc = *pc;
  return true;
}

bool interrupt_return(ThreadContext* c, const Uncopied& u) {
  if ((c->app.flags & kNestedTask) != 0) return raise_general_protection(c, 0), false;
  uint64_t frame[5];   // rip, cs, flags, rsp, ss
  for (const uint32_t k : {2u, 1u, 0u, 4u, 3u}) {   // as AMD's Zen 4 does
    const auto value = on_stack(c, k, u.width());
    if (!value) return false;
    frame[k] = *value;
  }
  if (!may_enter(c, static_cast<uint16_t>(frame[1]), frame[0], 0xffff)) return false;
  if (static_cast<uint16_t>(frame[4]) != kUserData) return raise_general_protection(c, frame[4] & 0xfffc), false;
  const uint64_t settable = u.width() == 2 ? kIretFlags & 0xffff : kIretFlags;
  c->app.flags = (c->app.flags & ~settable) | (frame[2] & settable);
  c->app.gpr[kRsp] = frame[3];
  c->app.pc = frame[0];
  return true;
}

// Of an operand in memory.
uint64_t address_of(ThreadContext* c, const Uncopied& u, uint32_t operand = 0) {
  const ZydisDecodedOperandMem& m = u.operands[operand].mem;
  const auto value = [&](ZydisRegister r) -> uint64_t {
    if (r == ZYDIS_REGISTER_NONE) return 0;
    if (r == ZYDIS_REGISTER_RIP || r == ZYDIS_REGISTER_EIP) return c->app.pc + u.insn.length;
    return c->app.gpr[ZydisRegisterGetId(r)];
  };
  uint64_t sum = value(m.base) + value(m.index) * m.scale + static_cast<uint64_t>(m.disp.value);
  if (u.insn.address_width == 32) sum = static_cast<uint32_t>(sum);
  if (m.segment == ZYDIS_REGISTER_FS) sum += c->app_fs_base;
  if (m.segment == ZYDIS_REGISTER_GS) sum += c->app_gs_base;
  return sum;
}

BySegment segment_of(const Uncopied& u, uint32_t operand = 0) {
  return u.operands[operand].mem.segment == ZYDIS_REGISTER_SS ? BySegment::kStack : BySegment::kOther;
}

bool far_jump_or_call(ThreadContext* c, const Uncopied& u) {
  const uint32_t width = u.width() == 8 && ignores_rex_w() ? 4 : u.width();
  const uint64_t at = address_of(c, u);
  uint64_t pc = 0;
  uint16_t selector = 0;
  if (!read_app(&pc, at, width) || !read_app(&selector, at + width, 2)) return raise_bad_access(c, at, BadAccess::kRead, segment_of(u)), false;
  if (!may_enter(c, selector, pc, 0xfffc)) return false;
  if (u.insn.mnemonic == ZYDIS_MNEMONIC_CALL) {
    uint8_t pushed[16] = {};
    const uint64_t after = c->app.pc + u.insn.length, code = kUserCode, top = c->app.gpr[kRsp] - 2ull * width;
    std::memcpy(pushed, &after, width);
    std::memcpy(pushed + width, &code, width);
    if (!write_app(top, pushed, 2ull * width)) return raise_bad_access(c, top, BadAccess::kWrite, BySegment::kStack), false;
    c->app.gpr[kRsp] = top;
  }
  c->app.pc = pc;
  return true;
}

// ZF, CF and the others by their places in the flags register; `number` as in the opcodes (Intel SDM vol. 2, appendix B.1.4).
bool condition_holds(uint64_t flags, uint32_t number) {
  const auto flag = [&](uint32_t place) { return (flags >> place & 1) != 0; };
  const bool cf = flag(0), pf = flag(2), zf = flag(6), sf = flag(7), of = flag(11);
  const bool holds[] = {of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of};
  return holds[number >> 1] != ((number & 1) != 0);
}

// Do loope and loopne go on while the zero flag is set? Of f2 and f3 before them the last decides (tried: no manual says it; only AMD's
// processors get here).
bool loops_while_zero(const Uncopied& u) {
  bool answer = u.insn.mnemonic == ZYDIS_MNEMONIC_LOOPE;
  for (uint8_t k = 0; k < u.insn.raw.prefix_count; ++k)
    if (const uint8_t prefix = u.insn.raw.prefixes[k].value; prefix == 0xf2 || prefix == 0xf3) answer = prefix == 0xf3;
  return answer;
}

// A conditional jump is taken; what counts in rcx or ecx has counted.
bool is_taken(ThreadContext* c, const Uncopied& u) {
  const bool zero = (c->app.flags >> 6 & 1) != 0;
  const uint64_t all = u.insn.address_width == 32 ? 0xffffffff : ~0ull;
  const auto count = [&] { return c->app.gpr[kRcx] = (c->app.gpr[kRcx] - 1) & all; };
  switch (u.insn.mnemonic) {
    case ZYDIS_MNEMONIC_LOOP: return count() != 0;
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE: return count() != 0 && zero == loops_while_zero(u);
    case ZYDIS_MNEMONIC_JECXZ:
    case ZYDIS_MNEMONIC_JRCXZ: return (c->app.gpr[kRcx] & all) == 0;
    default: return condition_holds(c->app.flags, u.insn.opcode & 0xf);
  }
}

// Where a jump or call of 16 bits leads; nothing when that cannot be read: the fault is pending then.
std::optional<uint64_t> narrow_target(ThreadContext* c, const Uncopied& u) {
  const ZydisDecodedOperand& o = u.operands[0];
  if (o.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) return (c->app.pc + u.insn.length + static_cast<uint64_t>(o.imm.value.s)) & 0xffff;
  if (o.type == ZYDIS_OPERAND_TYPE_REGISTER) return c->app.gpr[ZydisRegisterGetId(o.reg.value)] & 0xffff;
  uint64_t target = 0;
  const uint64_t at = address_of(c, u);
  if (read_app(&target, at, 2)) return target;
  raise_bad_access(c, at, BadAccess::kRead, segment_of(u));
  return std::nullopt;
}

bool narrow_branch(ThreadContext* c, const Uncopied& u) {
  const uint64_t next = c->app.pc + u.insn.length;
  if (u.insn.mnemonic == ZYDIS_MNEMONIC_RET) {
    const auto pc = on_stack(c, 0, 2);
    if (!pc) return false;
    c->app.gpr[kRsp] += 2 + (u.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? u.operands[0].imm.value.u : 0);
    c->app.pc = *pc;
    return true;
  }
  if (u.insn.meta.category == ZYDIS_CATEGORY_COND_BR) {
    c->app.pc = is_taken(c, u) ? *narrow_target(c, u) : next;
    return true;
  }
  const auto target = narrow_target(c, u);
  if (!target) return false;
  if (u.insn.mnemonic == ZYDIS_MNEMONIC_CALL) {
    const uint64_t top = c->app.gpr[kRsp] - 2;
    if (!write_app(top, &next, 2)) return raise_bad_access(c, top, BadAccess::kWrite, BySegment::kStack), false;
    c->app.gpr[kRsp] = top;
  }
  c->app.pc = *target;
  return true;
}

// A transaction may always abort; this one does at once, for no reason that a retry would help (eax 0).
bool transaction(ThreadContext* c, const Uncopied& u) {
  if (!has_feature(Feature::kRtm)) return raise_invalid_opcode(c), false;
  c->app.pc += u.insn.length;
  if (u.insn.mnemonic == ZYDIS_MNEMONIC_XABORT) return true;   // outside of a transaction: nothing
  c->app.pc += static_cast<uint64_t>(u.operands[0].imm.value.s);
  c->app.gpr[kRax] = 0;
  return true;
}

bool read_time_stamp(ThreadContext* c, const Uncopied& u) {
  if (c->tsc_refused != 0) return raise_general_protection(c, 0), false;
  uint32_t processor = 0;
  const uint64_t stamp = __builtin_ia32_rdtscp(&processor);
  c->app.gpr[kRax] = stamp & 0xffffffff;
  c->app.gpr[kRdx] = stamp >> 32;
  if (u.insn.mnemonic == ZYDIS_MNEMONIC_RDTSCP) c->app.gpr[kRcx] = processor;
  c->app.pc += u.insn.length;
  return true;
}

CpuidLeaf ask_processor(uint32_t leaf, uint32_t subleaf) {
  CpuidLeaf said{};
  __cpuid_count(leaf, subleaf, said.eax, said.ebx, said.ecx, said.edx);
  return said;
}

uint32_t avx10_version() {
  constexpr uint32_t kAvx10Leaf = 0x24;
  return ask_processor(0, 0).eax < kAvx10Leaf ? 0 : ask_processor(kAvx10Leaf, 0).ebx & 0xff;
}

bool answer_cpuid(ThreadContext* c, const Uncopied& u) {
  if (raw_syscall(SYS_arch_prctl, ARCH_GET_CPUID) == 0) return raise_general_protection(c, 0), false;   // the program has it refused
  const auto leaf = static_cast<uint32_t>(c->app.gpr[kRax]), subleaf = static_cast<uint32_t>(c->app.gpr[kRcx]);
  const CpuidLeaf shown = without_unknown_features(leaf, subleaf, ask_processor(leaf, subleaf), avx10_version());
  c->app.gpr[kRax] = shown.eax;
  c->app.gpr[kRbx] = shown.ebx;
  c->app.gpr[kRcx] = shown.ecx;
  c->app.gpr[kRdx] = shown.edx;
  c->app.pc += u.insn.length;
  return true;
}

// Does a null selector make the base 0? Not on AMD's processors before Zen 2 (APM vol. 3, CPUID Fn8000_0021_EAX, NullSelectorClearsBase).
bool null_selector_clears_base() {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (!ignores_rex_w()) return true;
  return __get_cpuid(0x80000021, &a, &b, &c, &d) != 0 && (a >> 6 & 1) != 0;
}

[[noreturn]] void refuse_segment(const ThreadContext* c, const char* what) {
  fail("the program %s at %#lx, which simrun can follow only where the kernel has FSGSBASE (Linux 5.9 and later, but for some virtual machines)",
       what, c->app.pc);
}

constexpr bool is_fs_or_gs(ZydisRegister r) { return r == ZYDIS_REGISTER_FS || r == ZYDIS_REGISTER_GS; }

// The selector that mov, pop, lfs or lgs loads; nothing: the fault is pending. `offset`: what lfs and lgs load beside it.
std::optional<uint64_t> selector_to_load(ThreadContext* c, const Uncopied& u, uint64_t& offset) {
  if (u.insn.mnemonic == ZYDIS_MNEMONIC_POP) return on_stack(c, 0, u.width());
  if (u.operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER) return c->app.gpr[ZydisRegisterGetId(u.operands[1].reg.value)];
  const uint32_t width = u.insn.mnemonic == ZYDIS_MNEMONIC_MOV ? 0 : u.width() == 8 && ignores_rex_w() ? 4 : u.width();
  const uint64_t at = address_of(c, u, 1);
  uint16_t selector = 0;
  if (read_app(&offset, at, width) && read_app(&selector, at + width, 2)) return selector;
  raise_bad_access(c, at, BadAccess::kRead, segment_of(u, 1));
  return std::nullopt;
}

bool is_readable(uint16_t selector) {
  bool result = false;
  __asm__("verr %1" : "=@ccz"(result) : "r"(selector));
  return result;
}

// Only null selectors, and such as the processor refuses: with any other the base is the descriptor's, and ours cannot be put in its place. Whatever
// the privilege level in its lower bits, what is loaded reads 0 then.
bool load_selector(ThreadContext* c, const Uncopied& u, ZydisRegister segment) {
  uint64_t offset = 0;
  const auto selector = selector_to_load(c, u, offset);
  if (!selector) return false;
  constexpr uint64_t kLastNull = 3;
  const auto loaded = static_cast<uint16_t>(*selector);
  if (loaded > kLastNull && !is_readable(loaded)) return raise_general_protection(c, loaded & ~3u), false;
  if (loaded > kLastNull) refuse_segment(c, "loads a selector into fs or gs");
  uint64_t& base = segment == ZYDIS_REGISTER_FS ? c->app_fs_base : c->app_gs_base;
  if (null_selector_clears_base()) base = 0;
  append_event(c, segment == ZYDIS_REGISTER_FS ? border::Event::kFsBase : border::Event::kGsBase, {base});
  if (u.insn.mnemonic == ZYDIS_MNEMONIC_POP) c->app.gpr[kRsp] += u.width();
  if (u.insn.mnemonic == ZYDIS_MNEMONIC_LFS || u.insn.mnemonic == ZYDIS_MNEMONIC_LGS) {
    uint64_t& to = c->app.gpr[ZydisRegisterGetId(u.operands[0].reg.value)];
    if (u.width() == 2)
      to = (to & ~0xffffull) | (offset & 0xffff);
    else
      to = offset;
  }
  c->app.pc += u.insn.length;
  return true;
}

// With g_bases_are_ours: not copied for the segment's sake.
bool do_with_segment(ThreadContext* c, const Uncopied& u) {
  switch (u.insn.mnemonic) {
    case ZYDIS_MNEMONIC_RDFSBASE:
    case ZYDIS_MNEMONIC_RDGSBASE:
    case ZYDIS_MNEMONIC_WRFSBASE:
    case ZYDIS_MNEMONIC_WRGSBASE: return raise_invalid_opcode(c), false;
    case ZYDIS_MNEMONIC_LFS: return load_selector(c, u, ZYDIS_REGISTER_FS);
    case ZYDIS_MNEMONIC_LGS: return load_selector(c, u, ZYDIS_REGISTER_GS);
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_POP:
      if (u.operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER || !is_fs_or_gs(u.operands[0].reg.value)) break;
      return load_selector(c, u, u.operands[0].reg.value);
    default: break;
  }
  if (u.insn.meta.category == ZYDIS_CATEGORY_AMX_TILE && !has_feature(Feature::kAmxTile)) return raise_invalid_opcode(c), false;
  refuse_segment(c, "uses its own segment base");
}

}  // namespace

bool has_unknown_features() {
  constexpr uint32_t kExtended = 0x80000000, kLeaves[][2] = {{7, 1}, {0x1e, 1}, {0x80000021, 0}};
  const uint32_t most = ask_processor(0, 0).eax, most_extended = ask_processor(kExtended, 0).eax, avx10 = avx10_version();
  for (const auto& [leaf, subleaf] : kLeaves) {
    if (leaf > (leaf < kExtended ? most : most_extended)) continue;
    const CpuidLeaf said = ask_processor(leaf, subleaf);
    if (said != without_unknown_features(leaf, subleaf, said, avx10)) return true;
  }
  return false;
}

bool do_uncopied_instruction(ThreadContext* c) {
  uint8_t code[ZYDIS_MAX_INSTRUCTION_LENGTH];
  uint32_t available;
  {
    const std::lock_guard lock(g_translation_lock);
    available = executable_bytes(AppAddress{c->app.pc}, sizeof code);
  }
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_AMD_BRANCHES, g_narrow_branches);
  Uncopied u;
  const auto read = [&] {
    const CodeAccess access;
    return available != 0 && read_app(code, c->app.pc, available);
  };
  if (!read() ||
      !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, available, &u.insn, u.operands)))
    return false;   // it has changed meanwhile: translated again
  if (u.insn.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE && !u.is_far() && u.insn.mnemonic != ZYDIS_MNEMONIC_XBEGIN) return narrow_branch(c, u);
  switch (u.insn.mnemonic) {
    case ZYDIS_MNEMONIC_RET: return far_return(c, u);
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ: return interrupt_return(c, u);
    case ZYDIS_MNEMONIC_JMP:
    case ZYDIS_MNEMONIC_CALL: return far_jump_or_call(c, u);
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XABORT: return transaction(c, u);
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP: return read_time_stamp(c, u);
    case ZYDIS_MNEMONIC_CPUID: return answer_cpuid(c, u);
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ: return pop_flags(c);
    case ZYDIS_MNEMONIC_ENCLU:
      if (has_feature(Feature::kSgx)) fail("the program enters an SGX enclave at %#lx, which no tool can follow", c->app.pc);
      [[fallthrough]];
    case ZYDIS_MNEMONIC_UIRET: return raise_invalid_opcode(c), false;   // user interrupts are not offered by the kernel
    default: return g_bases_are_ours ? do_with_segment(c, u) : (raise_invalid_opcode(c), false);
  }
}

}  // namespace simrun::engine
