#include "instr/engine/syscalls/filter_program.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/check.h"

namespace simrun::engine {
namespace {

constexpr uint32_t kPointerLow = offsetof(seccomp_data, instruction_pointer), kPointerHigh = kPointerLow + 4;

uint32_t arithmetic(uint16_t operation, uint32_t a, uint32_t b) {
  switch (operation) {
    case BPF_ADD:
      return a + b;
    case BPF_SUB:
      return a - b;
    case BPF_MUL:
      return a * b;
    case BPF_DIV:
      return b == 0 ? 0 : a / b;
    case BPF_AND:
      return a & b;
    case BPF_OR:
      return a | b;
    case BPF_XOR:
      return a ^ b;
    case BPF_LSH:
      return a << (b & 31);
    case BPF_RSH:
      return a >> (b & 31);
    default:
      return -a;  // BPF_NEG
  }
}

bool jumps(uint16_t operation, uint32_t a, uint32_t b) {
  switch (operation) {
    case BPF_JEQ:
      return a == b;
    case BPF_JGT:
      return a > b;
    case BPF_JGE:
      return a >= b;
    default:
      return (a & b) != 0;  // BPF_JSET
  }
}

uint32_t load(const sock_filter& i, const seccomp_data& data, const uint32_t* memory) {
  switch (BPF_MODE(i.code)) {
    case BPF_IMM:
      return i.k;
    case BPF_MEM:
      return memory[i.k % BPF_MEMWORDS];
    case BPF_LEN:
      return sizeof(seccomp_data);
    default: {
      uint32_t value = 0;
      if (i.k <= sizeof data - sizeof value)
        std::memcpy(&value, reinterpret_cast<const char*>(&data) + i.k, sizeof value);
      return value;
    }
  }
}

}  // namespace

uint32_t run_filter(const FilterProgram& program, const seccomp_data& data) {
  uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = {};
  for (size_t at = 0; at < program.size(); ++at) {
    const sock_filter& i = program[at];
    const uint32_t operand = BPF_SRC(i.code) == BPF_X ? x : i.k;
    switch (BPF_CLASS(i.code)) {
      case BPF_LD:
        a = load(i, data, memory);
        break;
      case BPF_LDX:
        x = load(i, data, memory);
        break;
      case BPF_ST:
        memory[i.k % BPF_MEMWORDS] = a;
        break;
      case BPF_STX:
        memory[i.k % BPF_MEMWORDS] = x;
        break;
      case BPF_ALU:
        if (BPF_OP(i.code) == BPF_DIV && operand == 0) return SECCOMP_RET_KILL_THREAD;  // the kernel returns 0 too
        a = arithmetic(BPF_OP(i.code), a, operand);
        break;
      case BPF_JMP:
        at += BPF_OP(i.code) == BPF_JA ? i.k : jumps(BPF_OP(i.code), a, operand) ? i.jt : i.jf;
        break;
      case BPF_RET:
        return BPF_RVAL(i.code) == BPF_A ? a : i.k;
      default:
        BPF_MISCOP(i.code) == BPF_TAX ? x = a : a = x;
        break;
    }
  }
  return SECCOMP_RET_KILL_PROCESS;
}

bool reads_instruction_pointer(const FilterProgram& program) {
  return std::any_of(program.begin(), program.end(), [](const sock_filter& i) {
    return i.code == (BPF_LD | BPF_W | BPF_ABS) && (i.k == kPointerLow || i.k == kPointerHigh);
  });
}

// low = pointer; if (low is one of subject) goto program
// for each range: if (high == range's && low in range) return allow
// program: accumulator = 0, as it begins; ...
FilterProgram with_exemptions(const FilterProgram& program, const std::vector<CodeRange>& exempt,
                              const std::vector<uint64_t>& subject) {
  constexpr uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS, kEqual = BPF_JMP | BPF_JEQ | BPF_K,
                     kAtLeast = BPF_JMP | BPF_JGE | BPF_K, kAbove = BPF_JMP | BPF_JGT | BPF_K;
  constexpr size_t kPerRange = 6;
  FilterProgram out;
  const size_t own = 1 + subject.size() + kPerRange * exempt.size();
  CHECK(own < 250);  // what a conditional jump can pass
  out.push_back(BPF_STMT(kLoad, kPointerLow));
  for (const uint64_t address : subject)
    out.push_back(BPF_JUMP(kEqual, static_cast<uint32_t>(address), static_cast<uint8_t>(own - out.size() - 1), 0));
  for (const CodeRange& r : exempt) {
    CHECK(r.from >> 32 == (r.to - 1) >> 32);
    out.push_back(BPF_STMT(kLoad, kPointerHigh));
    out.push_back(BPF_JUMP(kEqual, static_cast<uint32_t>(r.from >> 32), 0, 4));
    out.push_back(BPF_STMT(kLoad, kPointerLow));
    out.push_back(BPF_JUMP(kAtLeast, static_cast<uint32_t>(r.from), 0, 2));
    out.push_back(BPF_JUMP(kAbove, static_cast<uint32_t>(r.to - 1), 1, 0));
    out.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  out.push_back(BPF_STMT(BPF_LD | BPF_IMM, 0));
  out.insert(out.end(), program.begin(), program.end());
  return out;
}

}  // namespace simrun::engine
