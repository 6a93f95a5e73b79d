#include "instr/engine/runtime/single_step.h"

#include "instr/engine/context/app_memory.h"
#include "instr/engine/decode/instruction.h"
#include "instr/engine/signals/signals.h"

namespace simrun::engine {
namespace {

constexpr uint8_t kPushFlagsOpcode = 0x9c;

// What popf changes outside of the kernel (Intel SDM vol. 2, POPF): CF PF AF ZF SF TF DF OF NT AC ID. RF becomes 0.
constexpr uint64_t kPopped = 0x254dd5, kResumeFlag = 0x10000;

// The opcode of an instruction without operands behind legacy and REX prefixes; `wide` is false with an operand-size
// prefix.
uint8_t simple_opcode(ThreadContext* c, uint8_t& length, bool& wide) {
  uint8_t code[15] = {};
  uint32_t available = 15;
  while (available > 0 && !read_app(code, c->app.pc, available)) --available;
  wide = true;
  for (length = 0; length < available; ++length) {
    const uint8_t b = code[length];
    if (b == 0x66) wide = false;
    if (!is_prefix(b)) break;
  }
  return code[length++];
}

void raise_step_trap(ThreadContext* c) {
  siginfo_t info{};
  info.si_signo = SIGTRAP;
  info.si_code = TRAP_TRACE;
  info.si_addr = reinterpret_cast<void*>(c->app.pc);
  raise_signal_first(c, info, {1 /* X86_TRAP_DB */, 0, 0});
}

}  // namespace

void begin_step(ThreadContext* c) {
  uint8_t length;
  bool wide;
  c->step = simple_opcode(c, length, wide) == kPushFlagsOpcode ? (wide ? Step::kPushFlags64 : Step::kPushFlags16)
                                                               : Step::kPlain;
  c->app.flags &= ~kTrapFlag;
}

void end_step(ThreadContext* c, bool executed) {
  c->app.flags |= kTrapFlag;
  const Step step = c->step;
  c->step = Step::kNone;
  if (!executed) return;
  if (step == Step::kPushFlags64 || step == Step::kPushFlags16) {
    uint16_t pushed = 0;
    read_app(&pushed, c->app.gpr[kRsp], sizeof pushed);
    pushed |= kTrapFlag;
    write_app(c->app.gpr[kRsp], &pushed, sizeof pushed);
  }
  raise_step_trap(c);
}

bool pop_flags(ThreadContext* c) {
  uint8_t length;
  bool wide;
  simple_opcode(c, length, wide);
  uint64_t flags = 0;
  const uint64_t size = wide ? 8 : 2, mask = wide ? kPopped : kPopped & 0xffff;
  const bool traps = is_stepping(c);
  if (!read_app(&flags, c->app.gpr[kRsp], size)) {
    raise_bad_read(c, c->app.gpr[kRsp]);
    return false;
  }
  c->app.flags = (c->app.flags & ~(mask | kResumeFlag)) | (flags & mask);
  c->app.gpr[kRsp] += size;
  c->app.pc += length;
  if (traps) raise_step_trap(c);
  return true;
}

bool step_by_hand(ThreadContext* c) {
  uint8_t length;
  bool wide;
  if (simple_opcode(c, length, wide) != kPopFlagsOpcode) return false;
  pop_flags(c);
  return true;
}

}  // namespace simrun::engine
