#include "instr/engine/dispatch/indirect_entries.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/dispatch/indirect_table.h"
#include "instr/engine/dispatch/translations.h"

namespace simrun::engine {
namespace {

// An entry, by its offset, and what is known of it.
using Entry = std::pair<const uint32_t, IndirectEntry>;

// Where the jump in front of the entry leads.
uint64_t occupant_before(const Entry& entry) {
  const auto& [offset, facts] = entry;
  if (facts.address_at != 0) {
    uint64_t code;
    std::memcpy(&code, g_code_cache.write_pointer(facts.address_at), sizeof code);
    return code;
  }
  int32_t displacement;
  std::memcpy(&displacement, g_code_cache.write_pointer(offset) - sizeof displacement, sizeof displacement);
  return g_code_cache.address(offset) + displacement + facts.view;
}

void set_occupant_before(Entry& entry, uint64_t occupant) {
  auto& [offset, facts] = entry;
  if (facts.address_at != 0) {
    std::memcpy(g_code_cache.write_pointer(facts.address_at), &occupant, sizeof occupant);
    return;
  }
  uint32_t to = g_code_cache.offset_of(occupant);
  if (!g_code_cache.is_kept(occupant) && g_code_cache.view_of(occupant) != facts.view) {
    // By its address, on the way (cold): a relative jump stays in its view.
    Assembler a = assembler_for(CodeCache::kCold);
    to = g_code_cache.used(CodeCache::kCold);
    a.jmp_far(occupant);
    g_code_cache.commit(CodeCache::kCold, a.size());
    facts.address_at = to + a.size() - static_cast<uint32_t>(sizeof occupant);
  }
  const auto displacement = static_cast<int32_t>(to - offset);
  std::memcpy(g_code_cache.write_pointer(offset) - sizeof displacement, &displacement, sizeof displacement);
}

uint32_t count_targets(int32_t more) {
  const uint32_t targets = g_translations->indirect_targets += static_cast<uint32_t>(more);
  g_process.header->statistics.indirect_targets.store(targets, std::memory_order_relaxed);
  return targets;
}

void put_indirect_target(AppAddress pc, uint32_t indirect_entry) {
  const uint64_t code = g_code_cache.address(indirect_entry) + g_code_cache.view_for(raw(pc));
  __atomic_store_n(&indirect_place(pc), code, __ATOMIC_RELEASE);
}

}  // namespace

// The comparison goes by `loop`: what is right falls through. Each taken jump takes a place in the history by which processors predict
// indirect jumps (measured on Zen 4, null mode: python3 from 2.27 to 2.03 times native). Only AMD's processors do `loop` at once.
//
// previous: goto the previous occupant of the table entry, at last the miss
// verify:   if (r11 != pc) goto previous; rcx, r11 = the application's; B = what was handed on
// What follows is the superblock's start.
uint32_t emit_indirect_entry(AppAddress address, uint8_t buffer_register) {
  Assembler a = assembler_for(CodeCache::kHot);
  const uint32_t previous = g_code_cache.used(CodeCache::kHot);
  const uint64_t pc = raw(address);
  const bool by_loop = g_translations->options.loop_is_fast;
  const auto spill = [](uint8_t r) { return static_cast<uint32_t>(offsetof(ThreadContext, spill)) + 8u * r; };
  const uint64_t occupant = indirect_place(address);
  const bool is_near = g_code_cache.is_kept(occupant) || g_code_cache.view_of(occupant) == g_code_cache.view_for(pc);
  if (is_near)
    a.jmp(g_code_cache.address(g_code_cache.offset_of(occupant)));
  else
    a.jmp_far(occupant);
  const uint32_t start = previous + a.size();
  g_translations->indirect_entries.emplace(start, IndirectEntry{g_code_cache.view_for(pc), is_near ? 0 : start - 8});
  // Without touching the flags, which may be live at the target that it turns out to be: rcx = r11 - pc, and 1 more for `loop`
  const uint64_t distance = ~pc + (by_loop ? 2 : 1);
  if (pc <= 0x7fffffff) {
    a.lea(kRcx, kR11, static_cast<int32_t>(distance));
  } else {
    a.mov_imm(kRcx, distance);   // an immediate: a constant in memory would be one more cache line for each target
    a.lea_sum(kRcx, kRcx, kR11);
  }
  if (by_loop) {
    a.loop_back(a.size() + 2);
  } else {
    a.jrcxz_over(2);
    a.jmp_short(static_cast<uint8_t>(-static_cast<int32_t>(a.size() + 2)));
  }
  // Also when the target overwrites them: it may be other code by now, which reads them, and this the way to its translation (forward).
  a.load_gs(kRcx, spill(kRcx));
  a.load_gs(kR11, spill(kR11));
  if (buffer_register != kNoRegister && buffer_register != kHandedOn) hand_on(a, kHandedOn, buffer_register);
  g_code_cache.commit(CodeCache::kHot, a.size());
  return start;
}

void enter_indirect_table(AppAddress pc, uint32_t indirect_entry) {
  constexpr uint32_t kFewTargets = 512;   // `true` has 350; those that share a place stay in a chain until the next flush
  put_indirect_target(pc, indirect_entry);
  if (count_targets(1) == kFewTargets && g_process.indirect_places == kFewIndirectPlaces) grow_indirect_table();
}

void leave_indirect_table(uint32_t index) {
  auto& entries = g_translations->indirect_entries;
  Superblock& superblock = g_translations->superblocks[index];
  const auto own = entries.find(std::exchange(superblock.indirect_entry, 0));
  if (own == entries.end()) return;
  const uint64_t code = g_code_cache.address(own->first) + own->second.view, before = occupant_before(*own);
  uint64_t& place = indirect_place(superblock.pc);
  if (place == code) {
    __atomic_store_n(&place, before, __ATOMIC_RELEASE);
    count_targets(-1);
    return;
  }
  for (auto e = entries.find(g_code_cache.offset_of(place)); e != entries.end();) {
    const uint64_t next = occupant_before(*e);
    if (next == code) {
      set_occupant_before(*e, before);
      count_targets(-1);
      return;
    }
    e = entries.find(g_code_cache.offset_of(next));
  }
}

void fill_indirect_table() {
  const uint64_t miss = g_routines.indirect_miss_of[static_cast<uint32_t>(g_translations->options.mode)];
  std::fill_n(g_process.indirect_table, g_process.indirect_places, miss);
  // As they were emitted: each leads to those before it that had its place, and would hide those behind.
  std::vector<std::pair<uint32_t, AppAddress>> targets;
  for (const Superblock& s : g_translations->superblocks)
    if (s.indirect_entry != 0) targets.emplace_back(s.indirect_entry, s.pc);
  std::sort(targets.begin(), targets.end());
  for (const auto& [entry, pc] : targets) put_indirect_target(pc, entry);
}

}  // namespace simrun::engine
