#include "instr/engine/dispatch/links.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/dispatch/translations.h"
#include "instr/engine/instrument/ring_writer.h"

namespace simrun::engine {
namespace {

// This thread is the only one there has been, so it runs no code while it is here.
bool is_alone() { return g_process.header->slots_used.load(std::memory_order_relaxed) <= 1; }

void patch(const Exit& exit, const Superblock& target) {
  const Superblock& source = g_translations->superblocks[exit.superblock];
  const uint8_t from = source.buffer_register, to = target.buffer_register;
  const bool passes_check = exit.forward || (exit.words != 0 && source.level + exit.words <= target.level);
  const uint64_t inside = g_code_cache.address(passes_check ? target.body : target.check);
  constexpr uint32_t kReserve = 4096;
  const auto go_to_target = [&](uint32_t displacement) {
    // What falls through was translated right behind: its check costs less than a taken jump around it.
    const bool adjoins = displacement + sizeof(int32_t) == target.check;
    if (!adjoins || !is_alone() || !g_code_cache.drop_jump(displacement)) g_code_cache.patch_displacement(displacement, inside);
  };
  if (from == kNoRegister) {
    go_to_target(exit.patch);
  } else if (exit.patch_same_buffer == 0 || (from != to && g_code_cache.space(CodeCache::kCold) < kReserve)) {
    g_code_cache.patch_displacement(exit.patch, g_code_cache.address(target.entry));
  } else if (from == to) {
    go_to_target(exit.patch_same_buffer);
  } else {
    // From register to register on the way (cold): through memory it would be late.
    Assembler a = assembler_for(CodeCache::kCold);
    const uint64_t way = a.here();
    hand_on(a, from, to);
    a.jmp(inside);
    g_code_cache.commit(CodeCache::kCold, a.size());
    g_code_cache.patch_displacement(exit.patch_same_buffer, way);
  }
}

// By the target's address, on the way (cold): a relative jump stays in its view. False: no room for that.
bool patch_to_other_view(const Exit& exit, const Superblock& target) {
  constexpr uint32_t kReserve = 4096;
  if (g_code_cache.space(CodeCache::kCold) < kReserve) return false;
  Assembler a = assembler_for(CodeCache::kCold);
  const uint64_t way = a.here();
  a.jmp_far(code_at(target, target.entry));
  g_code_cache.commit(CodeCache::kCold, a.size());
  g_code_cache.patch_displacement(exit.patch, way);
  return true;
}

}  // namespace

void link(uint32_t index, uint32_t to) {
  Exit& exit = g_translations->exits[index];
  Superblock& target = g_translations->superblocks[to];
  const Superblock& from = g_translations->superblocks[exit.superblock];
  const bool may_link = from.purpose == Purpose::kOrdinary || from.purpose == Purpose::kAlone;
  if (!may_link || exit.linked || exit.kind != ExitKind::kDirect || !g_process.header->link_superblocks) return;
  if (view_of(from) == view_of(target))
    patch(exit, target);
  else if (!patch_to_other_view(exit, target))
    return;
  exit.linked = true;
  exit.next = target.incoming;
  target.incoming = index;
  g_process.header->statistics.links.fetch_add(1, std::memory_order_relaxed);
}

void wait_for_target(uint32_t exit) {
  Translations& s = *g_translations;
  const uint64_t target = raw(s.exits[exit].target);
  s.exits[exit].next = s.waiting.find(target);
  s.waiting.set(target, exit);
}

uint16_t level_at(AppAddress pc) {
  constexpr uint32_t kMore = 32;
  const Translations& s = *g_translations;
  if (s.options.mode != border::Mode::kTrace) return 0;
  const uint32_t most = most_unchecked_words();
  uint32_t level = 0;
  for (uint32_t k = s.waiting.find(raw(pc)); k != AddressMap::kNone; k = s.exits[k].next) {
    const uint32_t here = s.superblocks[s.exits[k].superblock].level + s.exits[k].words;
    if (here <= most && here > level) level = here;
  }
  return static_cast<uint16_t>(std::min(level + kMore, most));
}

void expect_again(uint32_t index) {
  Translations& s = *g_translations;
  uint32_t k = std::exchange(s.superblocks[index].incoming, AddressMap::kNone);
  while (k != AddressMap::kNone) {
    Exit& exit = s.exits[k];
    const uint32_t next = exit.next;
    const Superblock& from = s.superblocks[exit.superblock];
    if (exit.superblock != index && s.by_pc.find(raw(from.pc)) == exit.superblock) {
      for (const uint32_t at : {exit.patch, exit.patch_same_buffer})
        if (at != 0) g_code_cache.restore_jump(at);
      exit.linked = false;
      wait_for_target(k);
    }
    k = next;
  }
}

// check, body: goto forward; forward (cold): B = the application's; goto the new translation, at first the dispatcher.
void forward(uint32_t index) {
  Translations& s = *g_translations;
  Superblock& superblock = s.superblocks[index];
  for (uint32_t k = 0; k < superblock.exits; ++k) s.exits[superblock.first_exit + k].linked = true;
  const uint32_t start = g_code_cache.used(CodeCache::kCold);
  Assembler cold = assembler_for(CodeCache::kCold);
  if (s.options.mode != border::Mode::kNull)
    cold.store_gs(s.options.mode == border::Mode::kCount ? offsetof(ThreadContext, retired) : offsetof(ThreadContext, buffer), superblock.buffer_register);
  if (superblock.buffer_register != kNoRegister)
    cold.load_gs(superblock.buffer_register, static_cast<uint32_t>(offsetof(ThreadContext, spill)) + 8u * superblock.buffer_register);
  cold.align_patchable(1);
  const uint32_t patch = start + cold.size() + 1;
  cold.jmp(cold.here() + 5);
  const auto id = static_cast<uint32_t>(kFirstExit + s.exits.size());
  cold.store_gs_imm32(offsetof(ThreadContext, exit_id), id);
  cold.jmp(g_routines.leave);
  g_code_cache.commit(CodeCache::kCold, cold.size());
  constexpr uint32_t kJumpBytes = 5;
  CHECK(superblock.body == superblock.check || superblock.body >= superblock.check + kJumpBytes);
  CHECK(superblock.body + kJumpBytes <= superblock.code_end);
  for (const uint32_t from : {superblock.check, superblock.body}) {
    Assembler jump(g_code_cache.write_pointer(from), g_code_cache.address(from));
    jump.jmp(g_code_cache.address(start));
  }
  s.exits.push_back({superblock.pc, patch, 0, index, ExitKind::kDirect, false, false, 0});
  wait_for_target(id - kFirstExit);
}

}  // namespace simrun::engine
