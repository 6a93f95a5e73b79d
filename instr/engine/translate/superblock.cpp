#include "instr/engine/translate/superblock.h"

#include <emmintrin.h>

#include <algorithm>
#include <optional>

#include "base/tile_configuration.h"
#include "instr/border/shared_memory.h"
#include "instr/engine/decode/form_cache.h"
#include "instr/engine/decode/known_forms.h"
#include "instr/engine/translate/address_space.h"
#include "instr/engine/translate/code_access.h"

namespace simrun::engine {

bool g_traps_tsc;
bool g_answers_cpuid;
bool g_bases_are_ours;
bool (*g_can_read)(AppAddress at);
bool g_has_protection_keys;

namespace {

FormCache g_forms;   // under the translation lock, as everything here

bool ends_superblock(const Instruction& i) {
  if (i.writes_fs_base || i.writes_gs_base) return true;   // the simulator hears of it
  if (i.stores_fpu_pointer) return true;
  switch (i.flow) {
    case Flow::kNext: return false;
    case Flow::kConditional:
    case Flow::kCountedJump: return raw(i.target) <= raw(i.pc);   // a loop is left rarely: do not copy what follows it
    default: return true;
  }
}

bool may_store(const Instruction& i) {
  using border::OperandKind;
  for (uint32_t k = 0; k < i.memory_operands; ++k) {
    const OperandKind kind = i.memory[k].kind;
    if (kind == OperandKind::kStore || kind == OperandKind::kReadModifyWrite || kind == OperandKind::kNonTemporalStore) return true;
  }
  return i.untraced_memory;
}

// It is one of them, or only they would let it see or change the application's bases.
bool needs_base_instructions(const Instruction& i) {
  if (i.flow == Flow::kInterrupt) return false;   // swapgs traps
  const bool loads = i.writes_fs_base || i.writes_gs_base;
  return loads || ((i.uses_fs || i.uses_gs) && summed_segment_operand(i) == nullptr) || i.is_base_instruction;
}

// False: not a valid instruction.
bool decode_one(const uint8_t* code, uint32_t available, AppAddress at, Instruction& i) {
  if (!g_forms.decode(code, available, at, i, &simrun_known_forms)) return false;
  if ((g_traps_tsc && is_rdtsc(i)) || (g_answers_cpuid && is_cpuid(i))) i.flow = Flow::kUnsupported;
  if (g_bases_are_ours && needs_base_instructions(i)) i.flow = Flow::kUnsupported;
  return true;
}

// Of memory that another thread may write to meanwhile: it is read once, in one piece where the page allows it. What is decoded from several
// reads may be an instruction that never stood there, with bytes that do.
bool decode_changeable(const uint8_t* code, uint32_t available, AppAddress at, Instruction& i) {
  alignas(16) uint8_t bytes[16] = {};
  if (available == 15 && (raw(at) & 4095) <= 4096 - sizeof bytes)
    _mm_store_si128(reinterpret_cast<__m128i*>(bytes), _mm_loadu_si128(reinterpret_cast<const __m128i*>(code)));
  else
    __builtin_memcpy(bytes, code, available);
  return decode_one(bytes, available, at, i);
}

AppAddress next_page(AppAddress at) { return AppAddress{(raw(at) | 4095) + 1}; }

}  // namespace

uint32_t readable_bytes(AppAddress pc, uint32_t wanted) {
  if (g_can_read == nullptr) return wanted;
  const AppAddress end = pc + wanted;
  for (AppAddress at = pc; at < end; at = next_page(at))
    if (!g_can_read(at)) return static_cast<uint32_t>(at - pc);
  return wanted;
}

uint32_t words_bound(const Instruction& instruction) {
  uint32_t words = 0;
  for (uint32_t k = 0; k < instruction.memory_operands; ++k) {
    const MemoryOperand& m = instruction.memory[k];
    words += 4;
    if (m.form == border::OperandForm::kVectorIndex) words += 2 * 64 / 8;
    if (m.form == border::OperandForm::kMasked) words += m.vector_bytes / 8;
    if (m.form == border::OperandForm::kTile) words += kTileWords;
  }
  return words;
}

void form_superblock(AppAddress pc, uint32_t max_instructions, DecodedSuperblock& out) {
  out.pc = pc;
  out.count = 0;
  out.changeable = code_may_change(pc);
  if (out.changeable && max_instructions > kMaxChangeableInstructions) max_instructions = kMaxChangeableInstructions;
  uint32_t conditionals = 0;
  uint32_t words = 1;
  AppAddress at = pc;
  const AppAddress end = pc + executable_bytes(pc, 15 * kMaxSuperblockInstructions);
  AppAddress read_to = pc;
  std::optional<CodeAccess> access;
  while (out.count < max_instructions && at < end) {
    Instruction& i = out.instructions[out.count];
    auto available = static_cast<uint32_t>(end - at < 15 ? end - at : 15);
    if (read_to < at + available) {
      const uint32_t wanted = available;
      available = readable_bytes(at, wanted);
      if (available < wanted && !access) {
        access.emplace();
        available = readable_bytes(at, wanted);
      }
      if (available == 0) break;
      read_to = next_page(at + (available - 1));
    }
    const bool new_page = raw(at) >> 12 != raw(pc) >> 12;
    if (new_page && code_may_change(at) != out.changeable) break;
    const auto* const code = reinterpret_cast<const uint8_t*>(raw(at));
    const bool reaches_next_page = (raw(at) & 4095) > 4096 - 15;
    if (!(out.changeable || reaches_next_page ? decode_changeable : decode_one)(code, available, at, i)) break;
    // Its last bytes may lie where code changes.
    if (!out.changeable && raw(at) >> 12 != (raw(at) + i.length - 1) >> 12 && code_may_change(at + (i.length - 1))) {
      if (out.count > 0) break;
      out.changeable = true;
      max_instructions = std::min(max_instructions, kMaxChangeableInstructions);
    }
    // What is asked before the instruction comes before everything.
    if (out.count > 0 && (is_one_byte(i, kPopFlagsOpcode) || i.stores_fpu_pointer)) break;
    words += words_bound(i);
    if (words > border::kMaxSuperblockWords) break;
    ++out.count;
    if (ends_superblock(i)) break;
    if (out.changeable && may_store(i)) break;   // the store may hit the next instruction
    if (i.flow != Flow::kNext && ++conditionals == kMaxConditionalExits) break;
    at = at + i.length;
  }
}

void leave_popf_to_dispatcher(DecodedSuperblock& superblock) {
  if (superblock.count == 0 || !is_one_byte(superblock.instructions[0], kPopFlagsOpcode)) return;
  Instruction& popf = superblock.instructions[0];
  popf.flow = Flow::kUnsupported;
  popf.flags_read = kArithmeticFlags | kDf;   // by the handler, if it faults
  popf.flags_overwritten = 0;
}

void unroll_loop(uint32_t max_instructions, uint32_t most_passes, DecodedSuperblock& superblock) {
  Instruction* const instructions = superblock.instructions;
  const uint32_t pass = superblock.count;
  if (pass == 0 || superblock.changeable) return;   // changeable: shorter ones, compared before each pass
  const Instruction& last = instructions[pass - 1];
  if (last.flow != Flow::kConditional || last.target != superblock.pc) return;
  if (is_one_byte(instructions[0], kPopFlagsOpcode)) return;   // what is asked before it comes before each
  uint32_t exits = 0, words = 0;
  for (uint32_t k = 0; k < pass; ++k) {
    exits += instructions[k].flow != Flow::kNext;
    words += words_bound(instructions[k]);
  }
  uint32_t passes = std::min({kMaxUnrolledInstructions / pass, max_instructions / pass, kMaxConditionalExits / exits, most_passes});
  if (words != 0) passes = std::min(passes, (border::kMaxSuperblockWords - 1) / words);
  for (; superblock.count < passes * pass; superblock.count += pass) std::copy_n(instructions, pass, instructions + superblock.count);
  for (uint32_t k = pass; k < superblock.count; k += pass) {
    Instruction& back = instructions[k - 1];
    back.condition ^= 1;
    back.target = back.pc + back.length;
  }
}

void form_superblock_from(const uint8_t* bytes, uint32_t size, AppAddress pc, DecodedSuperblock& out) {
  out.pc = pc;
  out.count = 0;
  out.changeable = true;
  for (uint32_t at = 0; at < size && out.count < kMaxSuperblockInstructions;) {
    Instruction& i = out.instructions[out.count];
    if (!decode_one(bytes + at, size - at, pc + at, i)) break;
    ++out.count;
    at += i.length;
  }
}

namespace {

// Looks whether open flags are overwritten before they are read, along straight-line code and direct transfers. Every conditional jump
// reads flags: when it reads none of those that are open, both sides must overwrite them.
class FlagSearch {
 public:
  FlagSearch(AppAddress from, AppAddress to) : from_(from), to_(to) {}
  std::vector<uint64_t>& pages() { return pages_; }
  AppAddress from() const { return from_; }
  AppAddress to() const { return to_; }

  bool die_at(AppAddress pc, FlagSet open) {
    while (budget_-- > 0) {
      Instruction i;
      const uint32_t available = readable_bytes(pc, executable_bytes(pc, 15));
      if (available == 0 || code_may_change(pc) || !decode_one(reinterpret_cast<const uint8_t*>(raw(pc)), available, pc, i)) return false;
      if (code_may_change(pc + (i.length - 1))) return false;
      include(pc, i.length);
      if (i.flags_read & open) return false;
      open &= static_cast<FlagSet>(~i.flags_overwritten);
      if (open == 0) return true;
      switch (i.flow) {
        case Flow::kNext: pc = pc + i.length; break;
        case Flow::kJump:
        case Flow::kCall: pc = i.target; break;
        case Flow::kConditional:
          if (!die_at(i.target, open)) return false;
          pc = pc + i.length;
          break;
        default: return false;
      }
    }
    return false;
  }

 private:
  // So that a change of what was looked at is noticed.
  void include(AppAddress pc, uint32_t bytes) {
    if (pc < from_) from_ = pc;
    if (pc + bytes > to_) to_ = pc + bytes;
    for (uint64_t page = raw(pc) >> 12; page <= (raw(pc) + bytes - 1) >> 12; ++page)
      if (std::find(pages_.begin(), pages_.end(), page) == pages_.end()) pages_.push_back(page);
  }

  AppAddress from_, to_;
  std::vector<uint64_t> pages_;
  int budget_ = 16;   // instructions
};

}  // namespace

bool may_call_again(AppAddress pc, DecodedSuperblock& scratch) {
  constexpr uint32_t kMost = 6;
  AppAddress places[kMost + 1] = {pc};
  uint32_t known = 1;
  const auto go_on_at = [&](AppAddress at) {
    if (known <= kMost && std::find(places, places + known, at) == places + known) places[known++] = at;
  };
  for (uint32_t k = 0; k < known; ++k) {
    if (k == kMost) return true;
    form_superblock(places[k], kMaxSuperblockInstructions, scratch);
    if (scratch.count == 0) return true;
    for (uint32_t n = 0; n < scratch.count; ++n) {
      const Instruction& i = scratch.instructions[n];
      if (i.flow == Flow::kCall) return true;
      const bool jumps = i.flow == Flow::kConditional || i.flow == Flow::kCountedJump || i.flow == Flow::kJump;
      if (jumps && raw(i.target) > raw(i.pc)) go_on_at(i.target);
    }
    const Instruction& last = scratch.instructions[scratch.count - 1];
    if (last.flow == Flow::kNext || last.flow == Flow::kConditional || last.flow == Flow::kCountedJump) go_on_at(last.pc + last.length);
  }
  return false;
}

EntryLiveness entry_liveness(const DecodedSuperblock& superblock, bool ahead) {
  const Instruction& last = superblock.instructions[superblock.count - 1];
  EntryLiveness result{false, superblock.pc, last.pc + last.length, {}};
  FlagSet flags_open = kArithmeticFlags;
  bool read = false;
  FlagSearch search(result.looked_from, result.looked_to);
  for (uint32_t k = 0; k < superblock.count && !result.flags_dead; ++k) {
    const Instruction& i = superblock.instructions[k];
    if (i.flags_read & flags_open) read = true;   // before written: live for good
    flags_open &= static_cast<FlagSet>(~i.flags_overwritten);
    if (flags_open == 0 && !read) result.flags_dead = true;
    if (i.flow == Flow::kNext) continue;
    if (read || flags_open == 0) continue;
    const bool jumps = i.flow == Flow::kConditional || i.flow == Flow::kJump || i.flow == Flow::kCall;
    if (!ahead || !jumps || !search.die_at(i.target, flags_open)) {
      read = true;
    } else if (i.flow != Flow::kConditional) {
      result.flags_dead = true;
    }
  }
  const bool falls_through = last.flow == Flow::kNext || last.flow == Flow::kConditional;
  if (ahead && falls_through && !read && !result.flags_dead) result.flags_dead = search.die_at(last.pc + last.length, flags_open);
  if (result.flags_dead) {
    result.looked_from = search.from(), result.looked_to = search.to();
    result.pages_ahead = std::move(search.pages());
  }
  return result;
}

}  // namespace simrun::engine
