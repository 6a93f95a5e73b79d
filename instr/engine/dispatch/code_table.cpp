#include "instr/engine/dispatch/code_table.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "instr/engine/context/fork_locks.h"
#include "instr/engine/context/process.h"
#include "instr/engine/dispatch/descriptor_tables.h"
#include "instr/engine/dispatch/indirect_entries.h"
#include "instr/engine/dispatch/links.h"
#include "instr/engine/dispatch/translations.h"
#include "instr/engine/instrument/budget.h"
#include "instr/engine/instrument/log.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/translate/stable_pages.h"

namespace simrun::engine {

CodeCache g_code_cache;
EngineLock g_translation_lock{LockRank::kTranslation};
static const ForkLock g_fork_lock{g_translation_lock};

Translations* g_translations;

namespace {

constexpr int kPageShift = 12;
static_assert(kMostBetweenChecks >= kMaxSuperblockInstructions + kForwardWindow && kLongestSuperblock >= kMaxSuperblockInstructions &&
              kMostPaths >= kMaxConditionalExits + 1);

// Application addresses have 47 bits.
constexpr uint32_t kOneStep = 0, kOneAlone = 0xffff;   // in place of a number of instructions

uint64_t cut_key(AppAddress pc, uint32_t instructions) { return raw(pc) | static_cast<uint64_t>(instructions) << 48; }

// Appends what the translator produced to the registry, and links what can be linked, both ways.
void record(uint32_t start, uint32_t cold_start, uint32_t descriptor, uint32_t indirect_entry, const EntryLiveness& live, Purpose purpose, bool calls_again) {
  Translations& s = *g_translations;
  const TranslationOutput& o = s.output;
  const Instruction& last = s.decoded.instructions[s.decoded.count - 1];
  const auto index = static_cast<uint32_t>(s.superblocks.size());
  const auto first_exit = static_cast<uint32_t>(s.exits.size());
  s.superblocks.push_back({s.decoded.pc, last.pc + last.length, start, start + o.entry, start + o.check, start + o.body,
                           start + o.size, cold_start, first_exit, indirect_entry, descriptor,
                           static_cast<uint16_t>(o.exits.size()), static_cast<uint16_t>(s.decoded.count),
                           o.buffer_register, live.flags_dead, calls_again, live.looked_from, live.looked_to, purpose, level_at(s.decoded.pc)});
  if (s.decoded.changeable) {
    if (s.options.counts_comparisons && purpose == Purpose::kOrdinary) note_compared(s.decoded.pc, last.pc + last.length);
    auto& copy = s.bytes[index];
    for (uint32_t k = 0; k < s.decoded.count; ++k)
      copy.insert(copy.end(), s.decoded.instructions[k].bytes, s.decoded.instructions[k].bytes + s.decoded.instructions[k].length);
  }
  for (const auto& e : o.exits)
    s.exits.push_back({e.target, e.patch ? start + e.patch : 0, e.patch_same_buffer ? start + e.patch_same_buffer : 0, index, e.kind, e.forward, false, e.words});
  for (uint64_t page = raw(s.decoded.pc) >> kPageShift; page <= (raw(last.pc) + last.length - 1) >> kPageShift; ++page)
    s.pages[page].push_back(index);
  for (const uint64_t page : live.pages_ahead) s.pages[page].push_back(index);
  if (purpose != Purpose::kOrdinary) return;
  s.by_pc.set(raw(s.decoded.pc), index);
  for (uint32_t k = first_exit; k < s.exits.size(); ++k) {
    if (s.exits[k].kind != ExitKind::kDirect) continue;
    const uint32_t target = s.by_pc.find(raw(s.exits[k].target));
    if (target != AddressMap::kNone)
      link(k, target);
    else
      wait_for_target(k);
  }
  for (uint32_t k = s.waiting.find(raw(s.decoded.pc)), next; k != AddressMap::kNone; k = next) {
    next = s.exits[k].next;
    link(k, index);
  }
  s.waiting.erase(raw(s.decoded.pc));
}

// Where the superblocks that the decoded one will be linked with have the buffer pointer. Loops count twice.
Translator::Wishes wishes_of_neighbours(bool indirect) {
  const Translations& s = *g_translations;
  Translator::Wishes wishes{};
  const auto wish = [&](uint32_t index, uint8_t weight) {
    if (index == AddressMap::kNone) return;
    const uint8_t buffer = s.superblocks[index].buffer_register;
    if (buffer < wishes.size()) wishes[buffer] = static_cast<uint8_t>(std::min(wishes[buffer] + weight, 255));
  };
  for (uint32_t k = 0; k < s.decoded.count; ++k) {
    const Instruction& i = s.decoded.instructions[k];
    const bool direct = i.flow == Flow::kConditional || i.flow == Flow::kJump || i.flow == Flow::kCall || i.flow == Flow::kCountedJump;
    if (direct) wish(s.by_pc.find(raw(i.target)), raw(i.target) <= raw(i.pc) ? 2 : 1);
    if (i.flow == Flow::kReturn || i.flow == Flow::kIndirectCall || i.flow == Flow::kIndirectJump) ++wishes[kHandedOn];
  }
  const Instruction& last = s.decoded.instructions[s.decoded.count - 1];
  wish(s.by_pc.find(raw(last.pc + last.length)), 1);
  for (uint32_t k = s.waiting.find(raw(s.decoded.pc)); k != AddressMap::kNone; k = s.exits[k].next) wish(s.exits[k].superblock, 1);
  if (indirect) ++wishes[kHandedOn];
  return wishes;
}

// Whether the decoded superblock calls backwards, what may call on: so a descent of direct calls meets such a superblock again and again.
bool calls_again() {
  Translations& s = *g_translations;
  const Instruction& last = s.decoded.instructions[s.decoded.count - 1];
  if (!s.options.calls_off_look_ups() || last.flow != Flow::kCall || raw(last.target) > raw(last.pc)) return false;
  if (g_process.user_faults) return true;   // to look at it might be to wait for it
  const auto [known, is_new] = s.calling.try_emplace(raw(last.target), true);
  if (is_new) known->second = may_call_again(last.target, s.ahead);
  return known->second;
}

// Emits the decoded superblock behind what is committed; returns the index of its descriptors, if there are any.
uint32_t emit_and_describe(Purpose purpose, bool flags_dead, uint8_t buffer, bool calls_again) {
  Translations& s = *g_translations;
  const auto first_exit = static_cast<uint32_t>(kFirstExit + s.exits.size());
  const auto emit = [&](uint32_t first_path) {
    Assembler out = assembler_for(CodeCache::kHot), cold = assembler_for(CodeCache::kCold);
    s.translator.translate(s.decoded, purpose, flags_dead, first_path, first_exit, out, cold, s.output, g_code_cache.view_for(raw(s.decoded.pc)),
                           buffer, calls_again);
  };
  if (!s.options.describes_paths()) return emit(next_path_id()), 0;
  if (const KnownDescriptors known = find_descriptors(s.decoded); known.exist()) {
    emit(known.first_path);
    if (describe(known, s.decoded, s.output)) return known.superblock;
  }
  emit(next_path_id());
  return append_descriptors(s.decoded, s.output);
}

void map_code(const border::CodeMapEntry& entry) {
  border::ProcessHeader& h = *g_process.header;
  const uint32_t number = h.code_mapped.load(std::memory_order_relaxed);
  if (h.code_map_offset == 0 || number == border::kCodeMapEntries) return;
  reinterpret_cast<border::CodeMapEntry*>(g_process.base + h.code_map_offset)[number] = entry;
  h.code_mapped.store(number + 1, std::memory_order_release);
}

// `indirect`: the superblock is wanted by an indirect transfer, so its verification comes right before it.
bool translate(AppAddress pc, bool indirect, Purpose purpose, uint32_t max_instructions) {
  Translations& s = *g_translations;
  const uint64_t started = __builtin_ia32_rdtsc();
  form(pc, purpose, max_instructions, s.decoded);
  if (s.decoded.count == 0) return false;
  if (s.options.describes_paths() && descriptor_tables_are_full())
    fail("the tables of translated code are full (%zu superblocks now): the program generates more code than this version can describe",
         s.superblocks.size());
  const uint32_t bound = Translator::size_bound(s.decoded) + 128;
  CHECK(g_code_cache.space(CodeCache::kHot) >= bound && g_code_cache.space(CodeCache::kCold) >= bound);
  const EntryLiveness live = entry_liveness(s.decoded, !s.decoded.changeable);
  const uint8_t buffer = s.options.mode == border::Mode::kNull ? kNoRegister : s.translator.buffer_register(s.decoded, wishes_of_neighbours(indirect));
  const uint32_t indirect_entry = indirect ? emit_indirect_entry(pc, buffer) : 0;
  const uint32_t start = g_code_cache.used(CodeCache::kHot), cold_start = g_code_cache.used(CodeCache::kCold);
  const bool again = calls_again();
  const uint32_t descriptor = emit_and_describe(purpose, live.flags_dead, buffer, again);
  CHECK(s.output.size <= bound && s.output.cold_size <= bound);
  g_code_cache.commit(CodeCache::kHot, s.output.size);
  g_code_cache.commit(CodeCache::kCold, s.output.cold_size);
  record(start, cold_start, descriptor, indirect_entry, live, purpose, again);
  if (indirect) enter_indirect_table(pc, indirect_entry);
  map_code({raw(pc), start, s.output.size, cold_start, s.output.cold_size});
  if (keeps_log()) log_line("translated %#lx: %u instructions, %u bytes at +%#x", raw(pc), s.decoded.count, s.output.size, start);
  auto& statistics = g_process.header->statistics;
  statistics.superblocks.fetch_add(1, std::memory_order_relaxed);
  statistics.translated_instructions.fetch_add(s.decoded.count, std::memory_order_relaxed);
  statistics.code_bytes.fetch_add(s.output.size + s.output.cold_size, std::memory_order_relaxed);
  statistics.translation_ticks.fetch_add(__builtin_ia32_rdtsc() - started, std::memory_order_relaxed);
  return true;
}

}  // namespace

void form(AppAddress pc, Purpose purpose, uint32_t max_instructions, DecodedSuperblock& decoded) {
  form_superblock(pc, max_instructions, decoded);
  if (purpose == Purpose::kStep || purpose == Purpose::kAlone) leave_popf_to_dispatcher(decoded);
  const TranslationOptions& o = g_translations->options;
  if (!o.unroll_loops || purpose != Purpose::kOrdinary) return;
  if (o.mode == border::Mode::kTrace || (o.exact_stops && !o.count_paths)) return;
  unroll_loop(max_instructions, o.count_paths ? kMaxCountedPasses : kMaxConditionalExits, decoded);
}

void start_code_table(const TranslationOptions& options) {
  g_translations = new Translations(options);
  fill_indirect_table();
  map_code({0, 0, g_code_cache.used(CodeCache::kHot), 0, 0});   // what is there before any superblock
}

void set_mode(border::Mode mode) {
  g_translations->options.mode = mode;
  g_translations->translator = Translator(g_translations->options);
}

bool code_cache_is_full(bool uses_reserve) {
  constexpr uint32_t kMostOfOne = 40 * 1024;   // more than one superblock and its indirect entry can need
  constexpr uint32_t kReserve = 24 * 1024;
  const uint32_t least = uses_reserve ? kMostOfOne : kMostOfOne + kReserve;
  return g_code_cache.space(CodeCache::kHot) < least || g_code_cache.space(CodeCache::kCold) < least;
}

uint64_t code_for(AppAddress pc, bool indirect) {
  Translations& s = *g_translations;
  uint32_t found = s.by_pc.find(raw(pc));
  if (found == AddressMap::kNone) {
    if (!translate(pc, indirect, Purpose::kOrdinary, s.options.max_instructions)) return 0;
    found = s.by_pc.find(raw(pc));
  }
  Superblock& superblock = s.superblocks[found];
  if (indirect && superblock.indirect_entry == 0) {
    superblock.indirect_entry = emit_indirect_entry(pc, superblock.buffer_register);
    Assembler a = assembler_for(CodeCache::kHot);
    a.jmp(g_code_cache.address(superblock.check));
    g_code_cache.commit(CodeCache::kHot, a.size());
    enter_indirect_table(pc, superblock.indirect_entry);
  }
  return code_at(superblock, superblock.entry);
}

uint64_t short_code_for(AppAddress pc, bool indirect, uint32_t instructions) {
  Translations& s = *g_translations;
  const uint64_t code = s.options.count_paths ? code_for(pc, indirect) : 0;
  if (code != 0 && s.superblocks[s.by_pc.find(raw(pc))].instructions <= instructions) return code;
  return cut_code_for(pc, instructions);
}

uint64_t step_code_for(AppAddress pc) { return cut_code_for(pc, kOneStep); }

uint64_t alone_code_for(AppAddress pc) { return cut_code_for(pc, kOneAlone); }

uint64_t cut_code_for(AppAddress pc, uint32_t instructions) {
  Translations& s = *g_translations;
  const uint64_t key = cut_key(pc, instructions);
  auto found = s.cuts.find(key);
  if (found == s.cuts.end()) {
    const Purpose purpose = instructions == kOneStep ? Purpose::kStep : instructions == kOneAlone ? Purpose::kAlone : Purpose::kCut;
    const uint32_t wanted = purpose != Purpose::kCut ? 1 : std::min(instructions, s.options.max_instructions);
    if (!translate(pc, false, purpose, wanted)) return 0;
    found = s.cuts.emplace(key, static_cast<uint32_t>(s.superblocks.size() - 1)).first;
  }
  return code_at(s.superblocks[found->second], s.superblocks[found->second].entry);
}

Exit exit_facts(uint32_t exit_id) { return g_translations->exits[exit_id - kFirstExit]; }

void link_exit(uint32_t exit_id, uint64_t generation) {
  Translations& s = *g_translations;
  if (generation != s.generation) return;
  const uint32_t exit = exit_id - kFirstExit;
  const uint32_t target = s.by_pc.find(raw(s.exits[exit].target));
  if (target != AddressMap::kNone) link(exit, target);
}

uint64_t code_generation() { return __atomic_load_n(&g_translations->generation, __ATOMIC_RELAXED); }

void drop_translations() {
  if (keeps_log()) log_line("all translations are dropped: %zu superblocks", g_translations->superblocks.size());
  Translations& s = *g_translations;
  s.by_pc.clear();
  s.cuts.clear();
  s.waiting.clear();
  s.superblocks.clear();
  s.exits.clear();
  fill_indirect_table();
  s.indirect_targets = 0;
  g_process.header->statistics.indirect_targets.store(0, std::memory_order_relaxed);
  s.indirect_entries.clear();
  s.bytes.clear();
  s.calling.clear();
  s.pages.clear();
  __atomic_fetch_add(&s.generation, 1, __ATOMIC_RELAXED);
  g_code_cache.flush();
  g_process.header->statistics.flushes.fetch_add(1, std::memory_order_relaxed);
}

namespace {

// Calls `visit` with each page of [from, to) that has translations, and its superblocks, until it returns false.
template <typename Visit>
void visit_pages(AppAddress from, AppAddress to, Visit&& visit) {
  auto& pages = g_translations->pages;
  const uint64_t first = raw(from) >> kPageShift, last = (raw(to) - 1) >> kPageShift;
  if (last - first < pages.size()) {
    for (uint64_t page = first; page <= last; ++page)
      if (const auto p = pages.find(page); p != pages.end() && !visit(*p)) return;
    return;
  }
  for (auto& p : pages)
    if (p.first >= first && p.first <= last && !visit(p)) return;
}

// The superblock is no longer the translation of its address. False: no room for that.
bool retire(uint32_t index) {
  Translations& s = *g_translations;
  if (s.by_pc.find(raw(s.superblocks[index].pc)) != index) return true;   // forwards already
  if (g_code_cache.space(CodeCache::kCold) < 192) return false;
  s.by_pc.erase(raw(s.superblocks[index].pc));
  expect_again(index);
  leave_indirect_table(index);
  forward(index);
  return true;
}

}  // namespace

void invalidate_translations(AppAddress from, AppAddress to) {
  g_translations->cuts.clear();   // nothing leads there but this
  g_translations->calling.clear();
  bool room = true;
  visit_pages(from, to, [&](auto& page) {
    std::vector<uint32_t> left;   // on this page, but outside of the range
    for (uint32_t k : page.second) {
      const Superblock& superblock = g_translations->superblocks[k];
      if (superblock.looked_from >= to || superblock.looked_to <= from)
        left.push_back(k);
      else
        room = room && retire(k);
    }
    page.second.swap(left);
    return room;
  });
  if (!room) return drop_translations();
  g_process.header->statistics.flushes.fetch_add(1, std::memory_order_relaxed);
}

bool has_translations(AppAddress from, AppAddress to) {
  bool found = false;
  visit_pages(from, to, [&](const auto& page) {
    found = !page.second.empty();
    return !found;
  });
  return found;
}

}  // namespace simrun::engine
