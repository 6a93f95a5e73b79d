#include "instr/engine/dispatch/code_table.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/context/fork_locks.h"
#include "instr/engine/context/process.h"
#include "instr/engine/dispatch/address_map.h"
#include "instr/engine/dispatch/descriptor_tables.h"
#include "instr/engine/dispatch/indirect_table.h"
#include "instr/engine/instrument/budget.h"
#include "instr/engine/instrument/log.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/translate/stable_pages.h"

namespace simrun::engine {

CodeCache g_code_cache;
EngineLock g_translation_lock;
static const ForkLock g_fork_lock{g_translation_lock, LockRank::kTranslation};

namespace {

constexpr int kPageShift = 12;
constexpr uint32_t kJumpBytes = 5;
static_assert(kMostBetweenChecks >= kMaxSuperblockInstructions + kForwardWindow && kLongestSuperblock >= kMaxSuperblockInstructions &&
              kMostPaths >= kMaxConditionalExits + 1);

struct State {
  explicit State(const TranslationOptions& o) : options(o), translator(o) {
    superblocks.reserve(4096), exits.reserve(16384);   // untouched until it is used; growing would touch the same again and copy
  }
  TranslationOptions options;
  Translator translator;
  TranslationOutput output;
  DecodedSuperblock decoded;
  AddressMap by_pc;
  std::unordered_map<uint64_t, uint32_t> cuts;           // cut superblocks by cut_key
  AddressMap waiting;                                    // by target that does not exist yet: the first exit that waits for it
  std::vector<Superblock> superblocks;
  std::vector<Exit> exits;
  std::unordered_map<uint32_t, std::vector<uint8_t>> bytes;   // what changeable superblocks were translated from
  uint64_t generation = 1;
  uint32_t indirect_targets = 0;                         // entered since the last flush
  std::unordered_map<uint64_t, bool> calling;            // functions: may_call_again
  DecodedSuperblock ahead;
  std::unordered_map<uint64_t, std::vector<uint32_t>> pages;   // application pages with translated code, and the superblocks there
};

State* g_state;

// Application addresses have 47 bits.
constexpr uint32_t kOneStep = 0, kOneAlone = 0xffff;   // in place of a number of instructions

uint64_t cut_key(AppAddress pc, uint32_t instructions) { return raw(pc) | static_cast<uint64_t>(instructions) << 48; }

uint64_t& indirect_place(AppAddress pc) {
  return g_process.indirect_table[indirect_index(pc, g_state->options.bmi2) & (g_process.indirect_places - 1)];
}

Assembler assembler_for(CodeCache::Area area) {
  const uint32_t start = g_code_cache.used(area);
  return Assembler(g_code_cache.write_pointer(start), g_code_cache.address(start));
}

// This thread is the only one there has been, so it runs no code while it is here.
bool is_alone() { return g_process.header->slots_used.load(std::memory_order_relaxed) <= 1; }

void patch(const Exit& exit, const Superblock& target) {
  const Superblock& source = g_state->superblocks[exit.superblock];
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

uint64_t view_of(const Superblock& superblock) { return g_code_cache.view_for(raw(superblock.pc)); }

// As it is executed.
uint64_t code_at(const Superblock& superblock, uint32_t offset) { return g_code_cache.address(offset) + view_of(superblock); }

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

void link(Exit& exit, const Superblock& target) {
  const Superblock& from = g_state->superblocks[exit.superblock];
  const bool may_link = from.purpose == Purpose::kOrdinary || from.purpose == Purpose::kAlone;
  if (!may_link || exit.linked || exit.kind != ExitKind::kDirect || !g_process.header->link_superblocks) return;
  if (view_of(from) == view_of(target))
    patch(exit, target);
  else if (!patch_to_other_view(exit, target))
    return;
  exit.linked = true;
  g_process.header->statistics.links.fetch_add(1, std::memory_order_relaxed);
}

void wait_for_target(uint32_t exit) {
  State& s = *g_state;
  const uint64_t target = raw(s.exits[exit].target);
  s.exits[exit].next_waiting = s.waiting.find(target);
  s.waiting.set(target, exit);
}

// Links pass the check of their targets by as long as what may have been stored since the last check, the path included, is not more than the
// target's level. So levels rise along such links, none of which closes a circle. A new superblock is a little above those that lead to it.
uint16_t level_at(AppAddress pc) {
  constexpr uint32_t kMore = 32;
  const State& s = *g_state;
  if (s.options.mode != border::Mode::kTrace) return 0;
  const uint32_t most = most_unchecked_words();
  uint32_t level = 0;
  for (uint32_t k = s.waiting.find(raw(pc)); k != AddressMap::kNone; k = s.exits[k].next_waiting) {
    const uint32_t here = s.superblocks[s.exits[k].superblock].level + s.exits[k].words;
    if (here <= most && here > level) level = here;
  }
  return static_cast<uint16_t>(std::min(level + kMore, most));
}

// Appends what the translator produced to the registry, and links what can be linked, both ways.
void record(uint32_t start, uint32_t cold_start, uint32_t descriptor, uint32_t indirect_entry, const EntryLiveness& live, Purpose purpose, bool calls_again) {
  State& s = *g_state;
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
      link(s.exits[k], s.superblocks[target]);
    else
      wait_for_target(k);
  }
  for (uint32_t k = s.waiting.find(raw(s.decoded.pc)); k != AddressMap::kNone; k = s.exits[k].next_waiting)
    link(s.exits[k], s.superblocks[index]);
  s.waiting.erase(raw(s.decoded.pc));
}

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
  const bool by_loop = g_state->options.loop_is_fast;
  const auto spill = [](uint8_t r) { return static_cast<uint32_t>(offsetof(ThreadContext, spill)) + 8u * r; };
  const uint64_t occupant = indirect_place(address);
  if (g_code_cache.is_kept(occupant) || g_code_cache.view_of(occupant) == g_code_cache.view_for(pc))
    a.jmp(g_code_cache.address(g_code_cache.offset_of(occupant)));
  else
    a.jmp_far(occupant);
  // Without touching the flags, which may be live at the target that it turns out to be: rcx = r11 - pc, and 1 more for `loop`
  const uint32_t start = previous + a.size();
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

void put_indirect_target(AppAddress pc, uint32_t indirect_entry) {
  const uint64_t code = g_code_cache.address(indirect_entry) + g_code_cache.view_for(raw(pc));
  __atomic_store_n(&indirect_place(pc), code, __ATOMIC_RELEASE);
}

void enter_indirect_table(AppAddress pc, uint32_t indirect_entry) {
  constexpr uint32_t kFewTargets = 512;   // `true` has 350; those that share a place stay in a chain until the next flush
  put_indirect_target(pc, indirect_entry);
  if (++g_state->indirect_targets == kFewTargets && g_process.indirect_places == kFewIndirectPlaces) grow_indirect_table();
}

// Where the superblocks that the decoded one will be linked with have the buffer pointer. Loops count twice.
Translator::Wishes wishes_of_neighbours(bool indirect) {
  const State& s = *g_state;
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
  for (uint32_t k = s.waiting.find(raw(s.decoded.pc)); k != AddressMap::kNone; k = s.exits[k].next_waiting) wish(s.exits[k].superblock, 1);
  if (indirect) ++wishes[kHandedOn];
  return wishes;
}

// Whether the decoded superblock calls backwards, what may call on: so a descent of direct calls meets such a superblock again and again.
bool calls_again() {
  State& s = *g_state;
  const Instruction& last = s.decoded.instructions[s.decoded.count - 1];
  if (!s.options.calls_off_look_ups() || last.flow != Flow::kCall || raw(last.target) > raw(last.pc)) return false;
  if (g_process.user_faults) return true;   // to look at it might be to wait for it
  const auto [known, is_new] = s.calling.try_emplace(raw(last.target), true);
  if (is_new) known->second = may_call_again(last.target, s.ahead);
  return known->second;
}

// Emits the decoded superblock behind what is committed; returns the index of its descriptors (null mode has none).
uint32_t emit_and_describe(Purpose purpose, bool flags_dead, uint8_t buffer, bool calls_again) {
  State& s = *g_state;
  const auto first_exit = static_cast<uint32_t>(kFirstExit + s.exits.size());
  const auto emit = [&](uint32_t first_path) {
    Assembler out = assembler_for(CodeCache::kHot), cold = assembler_for(CodeCache::kCold);
    s.translator.translate(s.decoded, purpose, flags_dead, first_path, first_exit, out, cold, s.output, g_code_cache.view_for(raw(s.decoded.pc)),
                           buffer, calls_again);
  };
  if (s.options.mode == border::Mode::kNull) return emit(next_path_id()), 0;
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

// What is translated at `pc`. Where threads stop at exact numbers of instructions and links pass checks by, so many as a loop unrolled has
// must not come between two checks (kMostBetweenChecks). With words threads' turns would be longer and their lead over each other larger
// (decision 35).
void form(AppAddress pc, Purpose purpose, uint32_t max_instructions, DecodedSuperblock& decoded) {
  form_superblock(pc, max_instructions, decoded);
  const TranslationOptions& o = g_state->options;
  if (!o.unroll_loops || purpose != Purpose::kOrdinary) return;
  if (o.mode == border::Mode::kTrace || (o.exact_stops && !o.count_paths)) return;
  unroll_loop(max_instructions, decoded);
}

// `indirect`: the superblock is wanted by an indirect transfer, so its verification comes right before it.
bool translate(AppAddress pc, bool indirect, Purpose purpose, uint32_t max_instructions) {
  State& s = *g_state;
  const uint64_t started = __builtin_ia32_rdtsc();
  form(pc, purpose, max_instructions, s.decoded);
  if (s.decoded.count == 0) return false;
  if (descriptor_tables_are_full())
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

void start_code_table(const TranslationOptions& options) {
  g_state = new State(options);
  fill_indirect_table();
  map_code({0, 0, g_code_cache.used(CodeCache::kHot), 0, 0});   // what is there before any superblock
}

void fill_indirect_table() {
  const uint64_t miss = g_routines.indirect_miss_of[static_cast<uint32_t>(g_state->options.mode)];
  std::fill_n(g_process.indirect_table, g_process.indirect_places, miss);
  // As they were emitted: each leads to those before it that had its place, and would hide those behind.
  std::vector<std::pair<uint32_t, AppAddress>> targets;
  for (const Superblock& s : g_state->superblocks)
    if (s.indirect_entry != 0) targets.emplace_back(s.indirect_entry, s.pc);
  std::sort(targets.begin(), targets.end());
  for (const auto& [entry, pc] : targets) put_indirect_target(pc, entry);
}

void set_mode(border::Mode mode) {
  g_state->options.mode = mode;
  g_state->translator = Translator(g_state->options);
}

bool code_cache_is_full(bool uses_reserve) {
  constexpr uint32_t kMostOfOne = 40 * 1024;   // more than one superblock and its indirect entry can need
  constexpr uint32_t kReserve = 24 * 1024;
  const uint32_t least = uses_reserve ? kMostOfOne : kMostOfOne + kReserve;
  return g_code_cache.space(CodeCache::kHot) < least || g_code_cache.space(CodeCache::kCold) < least;
}

uint64_t code_for(AppAddress pc, bool indirect) {
  State& s = *g_state;
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
  State& s = *g_state;
  const uint64_t code = s.options.count_paths ? code_for(pc, indirect) : 0;
  if (code != 0 && s.superblocks[s.by_pc.find(raw(pc))].instructions <= instructions) return code;
  return cut_code_for(pc, instructions);
}

uint64_t step_code_for(AppAddress pc) { return cut_code_for(pc, kOneStep); }

uint64_t alone_code_for(AppAddress pc) { return cut_code_for(pc, kOneAlone); }

uint64_t cut_code_for(AppAddress pc, uint32_t instructions) {
  State& s = *g_state;
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

Exit exit_facts(uint32_t exit_id) { return g_state->exits[exit_id - kFirstExit]; }

void link_exit(uint32_t exit_id, uint64_t generation) {
  State& s = *g_state;
  if (generation != s.generation) return;
  Exit& exit = s.exits[exit_id - kFirstExit];
  const uint32_t target = s.by_pc.find(raw(exit.target));
  if (target != AddressMap::kNone) link(exit, s.superblocks[target]);
}

uint64_t code_generation() { return __atomic_load_n(&g_state->generation, __ATOMIC_RELAXED); }

void drop_translations() {
  if (keeps_log()) log_line("all translations are dropped: %zu superblocks", g_state->superblocks.size());
  State& s = *g_state;
  s.by_pc.clear();
  s.cuts.clear();
  s.waiting.clear();
  s.superblocks.clear();
  s.exits.clear();
  fill_indirect_table();
  s.indirect_targets = 0;
  s.bytes.clear();
  s.calling.clear();
  s.pages.clear();
  __atomic_fetch_add(&s.generation, 1, __ATOMIC_RELAXED);
  g_code_cache.flush();
  g_process.header->statistics.flushes.fetch_add(1, std::memory_order_relaxed);
}

namespace {

// check, body: goto forward; forward (cold): B = the application's; goto the new translation, at first the dispatcher. Old links and
// indirect entries stay as they are and arrive there. The superblock's own exits, which the jumps may lie on, are linked no more.
void forward(uint32_t index) {
  State& s = *g_state;
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
  CHECK(superblock.body == superblock.check || superblock.body >= superblock.check + kJumpBytes);
  CHECK(superblock.body + kJumpBytes <= superblock.code_end);
  for (const uint32_t from : {superblock.check, superblock.body}) {
    Assembler jump(g_code_cache.write_pointer(from), g_code_cache.address(from));
    jump.jmp(g_code_cache.address(start));
  }
  s.exits.push_back({superblock.pc, patch, 0, index, ExitKind::kDirect, false, false, 0});
  wait_for_target(id - kFirstExit);
}

// Calls `visit` with each page of [from, to) that has translations, and its superblocks, until it returns false.
template <typename Visit>
void visit_pages(AppAddress from, AppAddress to, Visit&& visit) {
  auto& pages = g_state->pages;
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
  State& s = *g_state;
  if (s.by_pc.find(raw(s.superblocks[index].pc)) != index) return true;   // forwards already
  if (g_code_cache.space(CodeCache::kCold) < 128) return false;
  s.by_pc.erase(raw(s.superblocks[index].pc));
  forward(index);
  return true;
}

}  // namespace

void invalidate_translations(AppAddress from, AppAddress to) {
  g_state->cuts.clear();   // nothing leads there but this
  g_state->calling.clear();
  bool room = true;
  visit_pages(from, to, [&](auto& page) {
    std::vector<uint32_t> left;   // on this page, but outside of the range
    for (uint32_t k : page.second) {
      const Superblock& superblock = g_state->superblocks[k];
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

namespace {

void find_late_words(const DecodedSuperblock& decoded, const TranslationOutput& output, const RecoveryPoint& point, uint32_t at, Recovery& result) {
  result.late_words[0] = result.late_words[1] = border::kNoWord;
  if (at != point.offset || point.instruction == 0) return;
  uint32_t found = 0;
  for (const border::OperandDescriptor& d : output.operands) {
    if (d.instruction + 1u != point.instruction || d.form != border::OperandForm::kRepeatString || found == std::size(result.late_words)) continue;
    result.late_words[found++] = d.word_c;
    result.late_register = string_register(decoded.instructions[d.instruction]);
  }
}

}  // namespace

Recovery recover(uint64_t code) {
  State& s = *g_state;
  Recovery result{};
  const uint32_t offset = g_code_cache.offset_of(code);
  auto after = std::upper_bound(s.superblocks.begin(), s.superblocks.end(), offset,
                                [](uint32_t o, const Superblock& b) { return o < b.start; });
  if (after == s.superblocks.begin()) return result;
  const Superblock& superblock = *(after - 1);
  if (offset >= superblock.code_end) return result;
  // The same translation again, elsewhere, pretending to be there.
  auto decoded = std::make_unique<DecodedSuperblock>();
  const auto copy = s.bytes.find(static_cast<uint32_t>(&superblock - s.superblocks.data()));
  if (copy != s.bytes.end())
    form_superblock_from(copy->second.data(), static_cast<uint32_t>(copy->second.size()), superblock.pc, *decoded);
  else
    form(superblock.pc, superblock.purpose, superblock.instructions, *decoded);   // it could go on where more has become executable since
  if (decoded->count != superblock.instructions) return result;   // the bytes have changed
  std::vector<uint8_t> scratch(Translator::size_bound(*decoded)), cold_scratch(Translator::size_bound(*decoded));
  const uint64_t start = g_code_cache.address(superblock.start);
  Assembler out(scratch.data(), start), cold(cold_scratch.data(), g_code_cache.address(superblock.cold));
  Translator translator(s.options);
  TranslationOutput output;
  translator.translate(*decoded, superblock.purpose, superblock.flags_dead, 0, 0, out, cold, output, view_of(superblock), superblock.buffer_register,
                       superblock.calls_again);
  if (output.size != superblock.code_end - superblock.start) return result;   // the bytes have changed
  const uint32_t at = offset - superblock.start;
  const RecoveryPoint* point = nullptr;
  for (const RecoveryPoint& p : output.recovery)
    if (p.offset <= at) point = &p;
  CHECK(point != nullptr);
  result.found = true;
  result.pc = point->instruction < decoded->count ? decoded->instructions[point->instruction].pc : superblock.end;
  result.in_spill = point->in_spill;
  result.pointer_register = point->pointer_in_register ? output.buffer_register : kNoRegister;
  result.instructions = point->instruction;
  result.words = point->words;
  result.counted = point->counted;
  result.moved = point->moved;
  find_late_words(*decoded, output, *point, at, result);
  result.blocks = point->blocks;
  result.whole = point->instruction == decoded->count;
  result.stale = point->comparing ? output.stale + view_of(superblock) : 0;
  result.last_path = s.options.mode != border::Mode::kNull ? last_path_of(superblock.descriptor) : 0;
  return result;
}

SuperblockPlace find_superblock(AppAddress pc) {
  const std::vector<Superblock>& all = g_state->superblocks;
  for (auto b = all.rbegin(); b != all.rend(); ++b)
    if (pc - b->pc < b->end - b->pc) return {true, b->pc, b->end, b->instructions, b->start, b->code_end};
  return {};
}

}  // namespace simrun::engine
