// The decoder's claims against the processor: random instructions are run natively, and what they did to registers,
// flags and memory, and where they faulted, is compared with what decode() said of them.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "tests/decode/claimed_references.h"
#include "tests/decode/random_instruction.h"

namespace simrun::engine {
namespace {

using border::OperandForm;
using border::OperandKind;

// Rounds per test; SIMRUN_DECODE_ROUNDS=n multiplies them for a long run, SIMRUN_DECODE_SEED=n changes the sequence.
int rounds(int n) {
  const char* factor = std::getenv("SIMRUN_DECODE_ROUNDS");
  return factor ? n * std::atoi(factor) : n;
}
uint64_t seed(uint64_t n) {
  const char* other = std::getenv("SIMRUN_DECODE_SEED");
  return other ? n + 1000 * std::strtoull(other, nullptr, 10) : n;
}

constexpr uint64_t kRflagsOf[] = {0x1, 0x4, 0x10, 0x40, 0x80, 0x800, 0x400};  // CF PF AF ZF SF OF DF, as FlagBits

uint64_t rflags_mask(FlagSet set) {
  uint64_t mask = 0;
  for (int f = 0; f < 7; ++f)
    if (set >> f & 1) mask |= kRflagsOf[f];
  return mask;
}
constexpr uint64_t kAllRflags = 0xcd5;

std::vector<uint8_t> random_memory(RandomInstructions& source) {
  std::vector<uint8_t> m(kWritableBytes);
  for (uint8_t& b : m) b = static_cast<uint8_t>(source.bits());
  return m;
}

bool within(uint64_t address, uint64_t bytes, uint64_t region, uint64_t region_bytes) {
  return address >= region && bytes <= region_bytes && address - region <= region_bytes - bytes;
}

// No claimed reference outside what the test has reserved, so that a right claim cannot hurt the test.
bool all_reserved(const std::vector<Reference>& references) {
  return std::all_of(references.begin(), references.end(),
                     [](const Reference& r) { return within(r.address, r.bytes, kReserved, kReservedBytes); });
}

bool is_store(OperandKind k) {
  return k == OperandKind::kStore || k == OperandKind::kNonTemporalStore || k == OperandKind::kReadModifyWrite;
}

bool byte_faults(const Reference& r, uint64_t address) {
  if (r.kind == OperandKind::kPrefetch || within(address, 1, kWritable, kWritableBytes)) return false;
  return is_store(r.kind) || !within(address, 1, kReadOnly, kReadOnlyBytes);
}

bool reference_faults(const Reference& r) {
  return byte_faults(r, r.address) || byte_faults(r, r.address + r.bytes - 1);
}

// Each locked access across lines takes seconds on hosts that slow it down when they see it (Intel SDM vol. 3, "Bus-Lock Detection").
bool locks_across_lines(const Instruction& i, const std::vector<Reference>& references) {
  const bool locks = std::any_of(i.memory, i.memory + i.memory_operands, [](const MemoryOperand& o) { return (o.flags & border::kLocked) != 0; });
  return locks && std::any_of(references.begin(), references.end(), [](const Reference& r) { return r.address % 64 + r.bytes > 64; });
}

class DecodeNative : public testing::Test {
 protected:
  // In the middle of the writable pages, with room for lanes and iterations on both sides.
  auto comfortable(RandomInstructions& source) {
    return [&source](const MemoryOperand&) { return kWritable + 2048 + 64 * source.below(32); };
  }
  uint64_t fs_base() const { return machine_.fs_base(); }
  void run(const Sample& s, const MachineState& before, const std::vector<uint8_t>& memory, Outcome& out) {
    machine_.run(s.instruction.bytes, s.instruction.length, before, memory, out);
  }
  NativeMachine machine_;
};

// Registers and flags that were not to change did not.
void expect_only_written_changed(const Sample& s, const MachineState& before, const MachineState& after) {
  for (uint8_t r = 0; r < 16; ++r)
    if (!(s.instruction.gpr_written & bit(r))) {
      EXPECT_EQ(after.gpr[r], before.gpr[r]) << s.name() << " changed register " << +r;
    }
  const uint64_t kept = kAllRflags & ~rflags_mask(s.instruction.flags_written);
  EXPECT_EQ(after.flags & kept, before.flags & kept) << s.name() << " changed flags";
}

void expect_distance(const Sample& s, const MachineState& before, const MachineState& after) {
  const Instruction& i = s.instruction;
  if (i.distance_dest == kNoRegister) return;
  EXPECT_EQ(after.gpr[i.distance_dest], before.gpr[i.distance_source] + static_cast<uint64_t>(i.distance_delta))
      << s.name();
}

// All registers and flags not read, changed: may change nothing but themselves, and themselves only where not
// overwritten.
MachineState with_unread_changed(const Sample& s, MachineState state, RandomInstructions& source) {
  for (uint8_t r = 0; r < 16; ++r)
    if (!(s.instruction.gpr_read & bit(r))) state.gpr[r] = source.bits();
  state.flags ^= source.bits() & kAllRflags & ~rflags_mask(s.instruction.flags_read);
  return state;
}

void expect_same_registers(const Sample& s, const Outcome& a, const MachineState& changed, const Outcome& b) {
  const Instruction& i = s.instruction;
  for (uint8_t r = 0; r < 16; ++r) {
    const bool unread = !(i.gpr_read & bit(r));
    if (unread && !(i.gpr_written & bit(r))) {
      EXPECT_EQ(b.after.gpr[r], changed.gpr[r]) << s.name();
    } else if (!unread || (i.gpr_overwritten & bit(r))) {
      EXPECT_EQ(b.after.gpr[r], a.after.gpr[r]) << s.name() << " register " << +r << " depends on something unread";
    }
  }
  // A flag that is neither read nor overwritten may differ by its own old value only.
  const FlagSet free = i.flags_overwritten | i.flags_read;
  const uint64_t compared = rflags_mask(static_cast<FlagSet>(free & ~s.undefined_flags));
  EXPECT_EQ(b.after.flags & compared, a.after.flags & compared) << s.name() << " flags depend on something unread";
}

void expect_same_rest(const Sample& s, const Outcome& a, const Outcome& b) {
  EXPECT_EQ(b.memory, a.memory) << s.name() << " memory depends on something unread";
  EXPECT_EQ(b.x87, a.x87) << s.name() << " x87 state depends on something unread";
  EXPECT_EQ(b.after.zmm, a.after.zmm) << s.name() << " vectors depend on something unread";
  EXPECT_EQ(b.after.k, a.after.k) << s.name() << " masks depend on something unread";
}

TEST_F(DecodeNative, RegistersAndFlags) {
  RandomInstructions source(seed(11), machine_.slot(), fs_base());
  const std::vector<uint8_t> memory = random_memory(source);
  std::set<ZydisMnemonic> seen;
  int executed = 0;
  for (int n = 0; n < rounds(300'000) && !HasFailure(); ++n) {
    Sample s = source.next();
    MachineState before;
    if (!source.aim(s, before, comfortable(source))) continue;
    const auto references = claimed_references(s.instruction, before, fs_base());
    if (s.instruction.untraced_memory || !all_reserved(references) || locks_across_lines(s.instruction, references)) continue;
    Outcome a, b;
    run(s, before, memory, a);
    if (a.signal) continue;
    ++executed;
    seen.insert(s.mnemonic);
    expect_only_written_changed(s, before, a.after);
    expect_distance(s, before, a.after);
    if (!s.deterministic) continue;
    const MachineState changed = with_unread_changed(s, before, source);
    run(s, changed, memory, b);
    ASSERT_EQ(b.signal, 0) << s.name();
    expect_same_registers(s, a, changed, b);
    expect_same_rest(s, a, b);
  }
  RecordProperty("executed", executed);
  RecordProperty("mnemonics", static_cast<int>(seen.size()));
  std::printf("%d instructions, %zu mnemonics\n", executed, seen.size());
  EXPECT_GT(executed, rounds(50'000));
  EXPECT_GT(seen.size(), 250u);
}

// Around the edges of writable, read-only and no memory.
uint64_t near_an_edge(RandomInstructions& source, const MemoryOperand& o) {
  const uint64_t edges[] = {kWritable,
                            kWritable + kWritableBytes,
                            kReadOnly,
                            kReadOnly + kReadOnlyBytes,
                            kReadOnly + kPageBytes,
                            kWritable + kPageBytes};
  const uint64_t edge = edges[source.below(6)];
  const uint64_t size = extent(o);
  switch (source.below(6)) {
    case 0:
      return edge;
    case 1:
      return edge - size;
    case 2:
      return edge - size + 1;
    case 3:
      return edge - 1;
    case 4:
      return edge - source.below(size + 1);
    default:
      return edge + 64 - 64 * source.below(3);
  }
}

// These may raise a fault that no claimed reference explains, or none although one does.
bool has_faults_of_its_own(const Sample& s) {
  switch (s.mnemonic) {
    case ZYDIS_MNEMONIC_ENTER:          // probes the new top of the stack
    case ZYDIS_MNEMONIC_MONITORX:       // a nop under hypervisors that intercept it
    case ZYDIS_MNEMONIC_VEXTRACTF32X4:  // checks all lanes for faults, although it stores only the active ones (class
                                        // E6NF)
    case ZYDIS_MNEMONIC_VEXTRACTF32X8:
    case ZYDIS_MNEMONIC_VEXTRACTF64X2:
    case ZYDIS_MNEMONIC_VEXTRACTF64X4:
    case ZYDIS_MNEMONIC_VEXTRACTI32X4:
    case ZYDIS_MNEMONIC_VEXTRACTI32X8:
    case ZYDIS_MNEMONIC_VEXTRACTI64X2:
    case ZYDIS_MNEMONIC_VEXTRACTI64X4:
    case ZYDIS_MNEMONIC_CLZERO:    // claims one byte of the line it clears
    case ZYDIS_MNEMONIC_CLDEMOTE:  // a nop where it is not known
    case ZYDIS_MNEMONIC_SGDT:      // emulated by the kernel where user mode may not execute them
    case ZYDIS_MNEMONIC_SIDT:
    case ZYDIS_MNEMONIC_SLDT:
    case ZYDIS_MNEMONIC_SMSW:
    case ZYDIS_MNEMONIC_STR:
    case ZYDIS_MNEMONIC_MASKMOVDQU:  // whether masked-off bytes fault is implementation-specific (SDM vol. 2,
                                     // MASKMOVDQU)
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_MASKMOVQ:  // its mask is not part of MachineState
      return true;
    case ZYDIS_MNEMONIC_MOVSXD:  // to 16 bits: AMD's reads four bytes, as claimed, Intel's two
      return __builtin_cpu_is("intel") && s.instruction.bytes[0] == 0x66;
    default:
      return s.instruction.memory_operands && s.instruction.memory[0].form == OperandForm::kXsave;
  }
}

TEST_F(DecodeNative, FaultsWhereItClaimsToReference) {
  if (!machine_.has_vectors()) GTEST_SKIP() << "needs AVX-512";
  RandomInstructions source(seed(12), machine_.slot(), fs_base());
  const std::vector<uint8_t> memory = random_memory(source);
  std::set<ZydisMnemonic> seen;
  int faults = 0, passes = 0;
  std::set<ZydisMnemonic> failed;  // each is reported once
  for (int n = 0; n < rounds(300'000); ++n) {
    Sample s = source.next();
    MachineState before;
    if (failed.count(s.mnemonic) || !s.instruction.memory_operands || has_faults_of_its_own(s)) continue;
    if (!source.aim(s, before, [&](const MemoryOperand& o) { return near_an_edge(source, o); })) continue;
    const auto references = claimed_references(s.instruction, before, fs_base());
    if (!all_reserved(references)) continue;
    const bool predicted = std::any_of(references.begin(), references.end(), reference_faults);
    if (!predicted && locks_across_lines(s.instruction, references)) continue;
    Outcome out;
    run(s, before, memory, out);
    const bool other_signal = out.signal && (out.signal != SIGSEGV || out.fault_address == 0);
    if (other_signal) continue;  // not known here, or not aligned
    seen.insert(s.mnemonic);
    const bool empty_broadcast =
        s.broadcast_mask != kNoRegister && (before.k[s.broadcast_mask] & s.broadcast_bits) != s.broadcast_bits;
    if (empty_broadcast) continue;  // claimed all the same; documented
    if ((out.signal != 0) != predicted) {
      failed.insert(s.mnemonic);
      ADD_FAILURE() << s.name() << (predicted ? " does not fault" : " faults") << ", first reference at " << std::hex
                    << (references.empty() ? 0 : references[0].address);
      continue;
    }
    out.signal ? ++faults : ++passes;
    if (!out.signal) continue;
    const bool explained = std::any_of(references.begin(), references.end(), [&](const Reference& r) {
      return within(out.fault_address, 1, r.address, r.bytes) && byte_faults(r, out.fault_address);
    });
    if (!explained) failed.insert(s.mnemonic);
    EXPECT_TRUE(explained) << s.name() << " fault at " << std::hex << out.fault_address;
  }
  std::printf("%d faults, %d without, %zu mnemonics\n", faults, passes, seen.size());
  EXPECT_GT(faults, rounds(5'000));
  EXPECT_GT(passes, rounds(5'000));
  EXPECT_GT(seen.size(), 250u);
}

// Stored bytes: none outside the claimed stores; all of them when nothing is loaded (each byte differs from the old
// content in at least one of two runs over inverse contents).
TEST_F(DecodeNative, StoresWhereItClaims) {
  if (!machine_.has_vectors()) GTEST_SKIP() << "needs AVX-512";
  RandomInstructions source(seed(13), machine_.slot(), fs_base());
  const std::vector<uint8_t> memory = random_memory(source);
  std::vector<uint8_t> inverse = memory;
  for (uint8_t& b : inverse) b = static_cast<uint8_t>(~b);
  std::set<ZydisMnemonic> seen;
  for (int n = 0; n < rounds(100'000) && !HasFailure(); ++n) {
    Sample s = source.next();
    MachineState before;
    const Instruction& i = s.instruction;
    if (i.untraced_memory || s.mnemonic == ZYDIS_MNEMONIC_CLZERO || s.mnemonic == ZYDIS_MNEMONIC_MASKMOVQ) continue;
    if (i.memory_operands && i.memory[0].form == OperandForm::kXsave) continue;
    if (!source.aim(s, before, comfortable(source))) continue;
    const auto references = claimed_references(i, before, fs_base());
    if (!all_reserved(references) || locks_across_lines(i, references)) continue;
    Outcome a, b;
    run(s, before, memory, a);
    if (a.signal) continue;
    run(s, before, inverse, b);
    if (b.signal) continue;
    std::vector<bool> claimed(kWritableBytes);
    bool loads = s.mnemonic == ZYDIS_MNEMONIC_FXSAVE || s.mnemonic == ZYDIS_MNEMONIC_FXSAVE64;  // leave gaps
    for (const Reference& r : references) {
      loads = loads || !is_store(r.kind) || r.kind == OperandKind::kReadModifyWrite;
      for (uint64_t byte = 0; is_store(r.kind) && byte < r.bytes; ++byte) claimed[r.address + byte - kWritable] = true;
    }
    bool stored_any = false;
    for (size_t byte = 0; byte < kWritableBytes; ++byte) {
      const bool stored = a.memory[byte] != memory[byte] || b.memory[byte] != inverse[byte];
      stored_any = stored_any || stored;
      ASSERT_FALSE(stored && !claimed[byte]) << s.name() << " stores at " << std::hex << kWritable + byte;
      ASSERT_FALSE(!loads && claimed[byte] && !stored)
          << s.name() << " does not store at " << std::hex << kWritable + byte;
    }
    if (stored_any) seen.insert(s.mnemonic);
  }
  std::printf("%zu mnemonics that store\n", seen.size());
  EXPECT_GT(seen.size(), 60u);
}

}  // namespace
}  // namespace simrun::engine
