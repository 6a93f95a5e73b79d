#include "instr/engine/decode/stand_in.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace simrun::engine {
namespace {

// Fields of the three-byte VEX prefix (Intel SDM vol. 2, 2.3.5).
enum VexPrefix : uint8_t { kNone = 1, k66 = 2, kF3 = 4, kF2 = 8 };   // as a set: 1 << pp
enum Length : uint8_t { kAnyLength, k128, k256 };
enum Operand : uint8_t { kAnyOperand, kRegister, kMemory };

struct Rule {
  uint8_t map;
  uint8_t prefixes;   // VexPrefix
  int8_t w;           // -1: either
  uint8_t first, last;   // opcodes
  Length length;
  Operand operand;
  uint8_t stand_in_pp, stand_in_opcode;
};

constexpr uint8_t kMap0f38 = 2, kMap0f3a = 3;
constexpr uint8_t kAndn = 0xf2;
// Of the 0F 38 map, all of 128 or 256 bits and without exceptions of their own.
constexpr uint8_t kVpsignd = 0x0a;        // vector, vector, vector or all of its memory
constexpr uint8_t kVpabsd = 0x1e;         // vector, vector or all of its memory
constexpr uint8_t kVpbroadcastw = 0x79;   // vector, 2 bytes of memory
constexpr uint8_t kTdpbf16ps = 0x5c;
constexpr uint8_t kVpalignr = 0x0f;       // of 0F 3A, with an immediate byte

constexpr Rule kRules[] = {
    {kMap0f38, k66, 1, 0xb4, 0xb5, kAnyLength, kAnyOperand, 1, kVpsignd},                 // vpmadd52luq, vpmadd52huq
    {kMap0f38, kNone | kF3 | kF2, 0, 0x50, 0x51, kAnyLength, kAnyOperand, 1, kVpsignd},   // vpdpb{ss,su,uu}d{,s}
    {kMap0f38, kNone | k66 | kF3, 0, 0xd2, 0xd3, kAnyLength, kAnyOperand, 1, kVpsignd},   // vpdpw{su,us,uu}d{,s}
    {kMap0f38, kNone | k66 | kF3 | kF2, 0, 0xb0, 0xb0, kAnyLength, kMemory, 1, kVpabsd},  // vcvtne{e,o}{bf16,ph}2ps
    {kMap0f38, k66 | kF3, 0, 0xb1, 0xb1, kAnyLength, kMemory, 1, kVpbroadcastw},          // vbcstne{bf16,sh}2ps
    {kMap0f38, kF3, 0, 0x72, 0x72, kAnyLength, kAnyOperand, 1, kVpabsd},                  // vcvtneps2bf16
    {kMap0f38, kF2, 0, 0xcb, 0xcb, k256, kRegister, 1, kVpsignd},                         // vsha512rnds2
    {kMap0f38, kF2, 0, 0xcc, 0xcd, k256, kRegister, 1, kVpabsd},                          // vsha512msg1, vsha512msg2
    {kMap0f38, kNone | k66, 0, 0xda, 0xda, k128, kAnyOperand, 1, kVpsignd},               // vsm3msg1, vsm3msg2
    {kMap0f38, kF3 | kF2, 0, 0xda, 0xda, kAnyLength, kAnyOperand, 1, kVpsignd},           // vsm4key4, vsm4rnds4
    {kMap0f3a, k66, 0, 0xde, 0xde, k128, kAnyOperand, 1, kVpalignr},                      // vsm3rnds2
    {kMap0f38, k66, -1, 0xe0, 0xef, k128, kMemory, 0, kAndn},                             // cmp<cc>xadd
    {kMap0f38, kF2, 0, 0x5c, 0x5c, k128, kRegister, 2, kTdpbf16ps},                       // tdpfp16ps
    {kMap0f38, kNone | k66, 0, 0x6c, 0x6c, k128, kRegister, 2, kTdpbf16ps},               // tcmmrlfp16ps, tcmmimfp16ps
};

bool fits(const Rule& r, const uint8_t* vex) {
  const uint8_t map = vex[1] & 0x1f, pp = vex[2] & 3, w = vex[2] >> 7, opcode = vex[3];
  const bool is_256 = (vex[2] & 4) != 0, is_register = vex[4] >> 6 == 3;
  return map == r.map && (r.prefixes >> pp & 1) != 0 && (r.w < 0 || w == r.w) && opcode >= r.first && opcode <= r.last &&
         (r.length == kAnyLength || is_256 == (r.length == k256)) && (r.operand == kAnyOperand || is_register == (r.operand == kRegister));
}

}  // namespace

bool find_stand_in(const uint8_t* code, uint32_t available, StandIn& out) {
  constexpr uint8_t kVex3 = 0xc4;
  constexpr uint32_t kToModrm = 5;
  available = std::min<uint32_t>(available, sizeof out.bytes);
  uint32_t at = 0;
  while (at < available && code[at] != kVex3 && is_prefix(code[at])) ++at;   // those that VEX does not bear are refused in the older one, too
  if (at + kToModrm > available || code[at] != kVex3) return false;
  const auto rule = std::ranges::find_if(kRules, [&](const Rule& r) { return fits(r, code + at); });
  if (rule == std::end(kRules)) return false;
  std::memset(out.bytes, 0, sizeof out.bytes);
  std::memcpy(out.bytes, code, available);
  out.bytes[at + 2] = static_cast<uint8_t>((out.bytes[at + 2] & ~3) | rule->stand_in_pp);
  out.bytes[at + 3] = rule->stand_in_opcode;
  out.compares_and_adds = rule->map == kMap0f38 && rule->stand_in_opcode == kAndn;
  return true;
}

void complete_compare_and_add(Instruction& out) {
  const uint8_t* const vex = out.bytes + out.prefix_offset;
  const auto reg = static_cast<uint8_t>((vex[4] >> 3 & 7) | (~vex[1] >> 4 & 8));
  out.gpr_read = static_cast<GprSet>(out.gpr_read | bit(reg));
  out.memory[0].kind = border::OperandKind::kReadModifyWrite;
  out.memory[0].flags |= border::kLocked;
}

}  // namespace simrun::engine
