#include "tests/decode/describe.h"

#include <cstdio>

namespace simrun::engine {
namespace {

const char* const kGprNames[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                 "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
const char* const kFlowNames[] = {"next",  "jump",   "if",      "counted", "call",       "ijump",
                                  "icall", "return", "syscall", "trap",    "unsupported"};
const char* const kKindNames[] = {"load", "store", "rmw", "prefetch", "flush", "ntload", "ntstore"};

std::string hex(int64_t v) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%s0x%llx", v < 0 ? "-" : "+", static_cast<unsigned long long>(v < 0 ? -v : v));
  return buffer;
}

std::string gprs(GprSet set) {
  if (set == 0xffff) return "all";
  std::string s;
  for (int r = 0; r < 16; ++r)
    if (set >> r & 1) s += (s.empty() ? "" : ",") + std::string(kGprNames[r]);
  return s.empty() ? "-" : s;
}

std::string flags(FlagSet set) {
  std::string s;
  for (int f = 0; f < 7; ++f)
    if (set >> f & 1) s += "CPAZSOD"[f];
  return s.empty() ? "-" : s;
}

// " r=a w=b o=c", parts that are empty left out.
std::string uses(const std::string& read, const std::string& written, const std::string& overwritten) {
  std::string s;
  if (read != "-") s += " r=" + read;
  if (written == "-") return s;
  return s + (written == overwritten ? " w=o=" + written : " w=" + written + " o=" + overwritten);
}

std::string address(const MemoryOperand& o) {
  std::string s = "[";
  if (o.flags & border::kFsBase) s += "fs:";
  if (o.flags & border::kGsBase) s += "gs:";
  if (o.base == kRipRegister) s += "rip";
  if (o.base < 16) s += kGprNames[o.base];
  if (o.index != kNoRegister) {
    const bool vector = o.form == border::OperandForm::kVectorIndex;
    s += "+" + (vector ? "v" + std::to_string(o.index) : std::string(kGprNames[o.index]));
    if (o.index_bytes == 1) s += ".byte";
    s += "*" + std::to_string(1 << o.shift);
  }
  if (o.bit_offset != kNoRegister) s += std::string("+bits(") + kGprNames[o.bit_offset] + ")";
  if (o.disp || s == "[") s += hex(o.disp);
  return s + "]";
}

std::string memory(const MemoryOperand& o) {
  using border::OperandForm;
  std::string s = kKindNames[static_cast<int>(o.kind)];
  s += o.form == OperandForm::kXsave ? " xsave" : std::to_string(o.size);
  if (o.flags & border::kLocked) s += " lock";
  if (o.flags & border::kStack) s += " stack";
  if (o.flags & border::kAddress32) s += " a32";
  if (o.form == OperandForm::kRepeatString) s += " rep";
  if (o.lanes) s += " x" + std::to_string(o.lanes);
  if (o.form == OperandForm::kVectorIndex)
    s += " i" + std::to_string(o.index_bytes) + "of" + std::to_string(o.vector_bytes);
  if (o.mask_register != kNoRegister)
    s += o.mask_lane ? " v" + std::to_string(o.mask_register) + "/" + std::to_string(o.mask_lane)
                     : " k" + std::to_string(o.mask_register);
  if (o.form == OperandForm::kTile) s += " tile" + std::to_string(o.tile);
  if (o.packed) s += " packed";
  return s + " " + address(o);
}

std::string properties(const Instruction& i) {
  std::string s;
  if (i.descriptor_flags & border::kRepeats) s += " rep";
  if (i.descriptor_flags & border::kSyscallGate) s += " gate";
  if (i.descriptor_flags & border::kNop) s += " nop";
  if (i.distance_dest != kNoRegister)
    s += std::string(" ") + kGprNames[i.distance_dest] + ":=" + kGprNames[i.distance_source] + hex(i.distance_delta);
  if (i.rip_relative) {
    const char* const prefixes[] = {"", " rex", " vex2", " vex3", " evex", " xop"};
    s += " rip@" + std::to_string(i.modrm_offset) + "," + std::to_string(i.disp_offset) +
         prefixes[static_cast<int>(i.prefix)];
    if (i.prefix != Instruction::Prefix::kNone) s += "@" + std::to_string(i.prefix_offset);
  }
  if (i.may_fault && !i.memory_operands) s += " fault";
  if (i.uses_gs) s += " gs";
  if (i.writes_fs_base) s += " fsbase";
  if (i.writes_gs_base) s += " gsbase";
  if (i.untraced_memory) s += " untraced";
  return s;
}

std::string flow(const Instruction& i) {
  std::string s = kFlowNames[static_cast<int>(i.flow)];
  if (i.flow == Flow::kConditional) s += std::to_string(i.condition);
  if (raw(i.target)) s += hex(static_cast<int64_t>(raw(i.target)));
  if (i.return_pop) s += hex(i.return_pop);
  return s;
}

}  // namespace

std::string describe(const Instruction& i) {
  std::string s = flow(i) + " ;";
  for (int m = 0; m < i.memory_operands; ++m) s += (m ? ", " : " ") + memory(i.memory[m]);
  s += " ;" + uses(gprs(i.gpr_read), gprs(i.gpr_written), gprs(i.gpr_overwritten));
  s += " ;" + uses(flags(i.flags_read), flags(i.flags_written), flags(i.flags_overwritten));
  return s + " ;" + properties(i);
}

}  // namespace simrun::engine
