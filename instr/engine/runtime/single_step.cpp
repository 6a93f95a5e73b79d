#include "instr/engine/runtime/single_step.h"

#include <utility>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/decode/instruction.h"
#include "instr/engine/signals/signals.h"

namespace simrun::engine {
namespace {

constexpr uint8_t kPushFlagsOpcode = 0x9c;

// What popf changes outside of the kernel (Intel SDM vol. 2, POPF): CF PF AF ZF SF TF DF OF NT AC ID. RF becomes 0.
constexpr uint64_t kPopped = 0x244dd5, kResumeFlag = 0x10000;

// What matters of the instruction at app.pc: its opcode behind legacy and REX prefixes, and some of those.
struct Form {
  uint8_t opcode, next;      // `next`: the byte behind the opcode
  uint8_t length;            // up to and with the opcode
  uint8_t repeat;            // the prefix f2 or f3, the last that there is; else 0
  bool wide, address32;
};

Form form_of(ThreadContext* c) {
  uint8_t code[16] = {};
  uint32_t available = 15;
  while (available > 0 && !read_app(code, c->app.pc, available)) --available;
  Form f{0, 0, 0, 0, true, false};
  for (; f.length < available && is_prefix(code[f.length]); ++f.length) {
    const uint8_t b = code[f.length];
    if (b == 0x66) f.wide = false;
    if (b == 0x67) f.address32 = true;
    if (b == 0xf2 || b == 0xf3) f.repeat = b;
  }
  if (f.length > 0 && (code[f.length - 1] & 0xf8) == 0x48) f.wide = true;   // REX.W, which counts right before the opcode only
  f.opcode = code[f.length++];
  f.next = code[f.length];
  return f;
}

// movs, cmps; stos, lods, scas. (ins and outs fault.)
bool is_string(uint8_t opcode) { return (opcode & 0xfc) == 0xa4 || (opcode >= 0xaa && opcode <= 0xaf); }
bool compares(uint8_t opcode) { return (opcode & 0xfe) == 0xa6 || (opcode & 0xfe) == 0xae; }

// Traps come behind the instruction that follows a mov ss (Intel SDM vol. 3, 6.8.3).
bool loads_stack_segment(const Form& f) { return f.opcode == 0x8e && (f.next >> 3 & 7) == 2; }

Step step_for(const Form& f, uint64_t counter) {
  if (f.opcode == kPushFlagsOpcode) return f.wide ? Step::kPushFlags64 : Step::kPushFlags16;
  if (loads_stack_segment(f)) return Step::kStackSegment;
  if (f.repeat == 0 || !is_string(f.opcode) || counter < 2) return Step::kPlain;
  if (!compares(f.opcode)) return Step::kRepeat;
  return f.repeat == 0xf3 ? Step::kRepeatWhileEqual : Step::kRepeatWhileUnequal;
}

bool is_repeat(Step step) { return step == Step::kRepeat || step == Step::kRepeatWhileEqual || step == Step::kRepeatWhileUnequal; }

// A string instruction with a prefix traps behind each repetition, so one alone is run at a time.
void end_repetition(ThreadContext* c, Step step, bool executed) {
  const bool equal = (c->app.flags & 0x40) != 0;
  const bool found = (step == Step::kRepeatWhileEqual && !equal) || (step == Step::kRepeatWhileUnequal && equal);
  c->app.gpr[kRcx] = executed ? c->step_counter_behind : c->step_counter;
  if (!executed || !found) c->app.pc = c->step_pc;
}

}  // namespace

void raise_step_trap(ThreadContext* c) {
  siginfo_t info{};
  info.si_signo = SIGTRAP;
  info.si_code = TRAP_TRACE;
  info.si_addr = reinterpret_cast<void*>(c->app.pc);
  raise_signal_first(c, info, {1 /* X86_TRAP_DB */, 0, 0});
}

void begin_step(ThreadContext* c) {
  const Form form = form_of(c);
  const uint64_t counter = form.address32 ? static_cast<uint32_t>(c->app.gpr[kRcx]) : c->app.gpr[kRcx];
  c->step = step_for(form, counter);
  if (is_repeat(c->step)) {
    c->step_pc = c->app.pc;
    c->step_counter_behind = counter - 1;
    c->step_counter = std::exchange(c->app.gpr[kRcx], 1);
  }
  c->app.flags &= ~kTrapFlag;
}

void end_step(ThreadContext* c, bool executed) {
  c->app.flags |= kTrapFlag;
  const Step step = c->step;
  c->step = Step::kNone;
  if (is_repeat(step)) end_repetition(c, step, executed);
  if (!executed || step == Step::kStackSegment) return;
  if (step == Step::kPushFlags64 || step == Step::kPushFlags16) {
    uint16_t pushed = 0;
    read_app(&pushed, c->app.gpr[kRsp], sizeof pushed);
    pushed |= kTrapFlag;
    write_app(c->app.gpr[kRsp], &pushed, sizeof pushed);
  }
  raise_step_trap(c);
}

bool pop_flags(ThreadContext* c) {
  const Form form = form_of(c);
  uint64_t flags = 0;
  const uint64_t size = form.wide ? 8 : 2, mask = form.wide ? kPopped : kPopped & 0xffff;
  if (!read_app(&flags, c->app.gpr[kRsp], size)) {
    raise_bad_access(c, c->app.gpr[kRsp], BadAccess::kRead, BySegment::kStack);
    return false;
  }
  c->app.flags = (c->app.flags & ~(mask | kResumeFlag)) | (flags & mask);
  c->app.gpr[kRsp] += size;
  c->app.pc += form.length;
  return true;
}

}  // namespace simrun::engine
