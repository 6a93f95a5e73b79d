// Superblock level of the translation: prologue, the walk over the instructions, exits. Operands and words are in
// translate_operands.cpp, control transfers in translate_transfers.cpp.
#include "instr/engine/translate/translator.h"

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

namespace {
constexpr uint32_t spill_slot(uint8_t r) { return static_cast<uint32_t>(offsetof(ThreadContext, spill)) + 8u * r; }
constexpr uint8_t kSlowJump = 5;   // bytes: the jump that limit_check_without_flags takes
constexpr int32_t kPrefetchBytes = 1024;   // ahead of the words (docs/performance-tried.md, "The reader behind the program")
}

void hand_on(Assembler& a, uint8_t from, uint8_t to) {
  a.store_gs(spill_slot(to), to);
  a.mov(to, from);
  a.load_gs(from, spill_slot(from));
}

void TranslationOutput::clear() {
  exits.clear();
  paths.clear();
  operands.clear();
  operands_per_instruction.clear();
  recovery.clear();
  stale = 0;
}

uint32_t Translator::size_bound(const DecodedSuperblock& superblock) {
  uint32_t bytes = 448;
  for (uint32_t k = 0; k < superblock.count; ++k) bytes += 288 + (superblock.changeable ? 96 : 0) + 24 * words_bound(superblock.instructions[k]);
  return bytes + kMaxConditionalExits * 96;
}

void Translator::translate(const DecodedSuperblock& superblock, Purpose purpose, bool flags_dead, uint32_t first_path,
                           uint32_t first_exit, Assembler& out, Assembler& cold, TranslationOutput& result, uint64_t view,
                           uint8_t buffer, bool calls_again) {
  superblock_ = &superblock;
  purpose_ = purpose;
  out_ = &out;
  cold_ = &cold;
  result_ = &result;
  first_path_ = first_path;
  first_exit_ = first_exit;
  view_ = view;
  words_.start(options_.share_words);
  anchor_in_use_ = ended_ = false;
  pointer_lent_ = flags_kept_ = false;
  constant_use_ = nullptr;
  counted_ = moved_ = 0;
  committed_ = 0;
  side_exits_.clear();
  result.clear();
  flags_dead_ = flags_dead;
  calls_again_ = calls_again;
  choose_scratch(buffer);
  plan_counts();
  prologue();
  if (tracing() && options_.live_pointer) store_pointer(out);
  if (superblock.instructions[0].stores_fpu_pointer && purpose != Purpose::kStep && purpose != Purpose::kAlone) ask_for_fpu_pointer();
  for (current_ = 0; current_ < superblock.count; ++current_) {
    if (counting() && current_ >= counted_) count_to_next_exit();
    if (blocks_counted_ < blocks_.size() && blocks_[blocks_counted_].before == current_) count_block();
    instruction(superblock.instructions[current_]);
  }
  const Instruction& last = superblock.instructions[superblock.count - 1];
  if (ended_) {
    // nothing follows
  } else if (last.flow == Flow::kNext || last.flow == Flow::kConditional || last.flow == Flow::kCountedJump ||
      last.flow == Flow::kInterrupt)
    end_at(last.pc + last.length, ExitKind::kDirect);
  for (const SideExit& e : side_exits_) {
    out.bind(e.jump);
    direct_exit(e.exit, e.anchor_in_use);
  }
  place_constant();
  result.size = out.size();
  result.cold_size = cold.size();
}

bool Translator::ends_in_look_up() const {
  const Flow last = superblock_->instructions[superblock_->count - 1].flow;
  return last == Flow::kIndirectCall || last == Flow::kIndirectJump || last == Flow::kReturn;
}

// The buffer register is one that the superblock does not touch: what its neighbours have, else in a fixed order of preference, so that
// many superblocks agree and can be linked without giving it back. If every register is used, the one used least.
uint8_t Translator::least_used(const Wishes& wishes) const {
  // The one in which it is handed on comes first.
  static constexpr uint8_t kPreference[] = {kR10, kR9, kR11, kR8, kR15, kR14, kR13, kR12, kRbp, kRbx, kRdi, kRsi, kRdx, kRax, kRcx};
  uint32_t uses[16] = {};
  for (uint32_t k = 0; k < superblock_->count; ++k) {
    const Instruction& i = superblock_->instructions[k];
    for (auto touched = static_cast<GprSet>(i.gpr_read | i.gpr_written); touched != 0; touched &= static_cast<GprSet>(touched - 1))
      ++uses[__builtin_ctz(touched)];
  }
  const Instruction& last = superblock_->instructions[superblock_->count - 1];
  if (ends_in_look_up()) uses[kR11] = uses[kRcx] = 1u << 20;   // it wants both
  if (options_.watched != nullptr && last.flow == Flow::kReturn) ++uses[kRax];   // read by describe_registers
  if (superblock_->changeable) uses[kRax] += 1u << 10;    // compare_code may want it for the flags
  for (uint8_t r = 0; r < 16; ++r)                        // the last instruction ends in an exit that needs the buffer register
    if (last.flow != Flow::kNext && touches(last, r)) uses[r] += 1u << 16;
  uint8_t best = kPreference[0];
  for (uint8_t r : kPreference)
    if (uses[r] < uses[best] || (uses[r] == uses[best] && wishes[r] > wishes[best])) best = r;
  return best;
}

// The anchor is a register that nothing in the superblock uses.
void Translator::choose_scratch(uint8_t buffer) {
  buffer_ = !has_pointer() ? kNoRegister : buffer != kNoRegister ? buffer : least_used({});
  GprSet used = ends_in_look_up() ? bit(kR11) | bit(kRcx) : 0;
  for (uint32_t k = 0; k < superblock_->count; ++k) used |= superblock_->instructions[k].gpr_read | superblock_->instructions[k].gpr_written;
  const bool watches_return = options_.watched != nullptr && superblock_->instructions[superblock_->count - 1].flow == Flow::kReturn;
  if (watches_return || superblock_->changeable) used |= bit(kRax);
  anchor_ = kNoRegister;
  for (uint8_t r : {kRbp, kRbx, kRdi, kRsi, kRdx, kRax, kRcx})
    if ((used & bit(r)) == 0 && r != buffer_ && anchor_ == kNoRegister) anchor_ = r;
  comparer_ = kRbp;
  result_->buffer_register = buffer_;
}

// The counter of path k is of the k-th block: what comes up to the k-th conditional exit, behind the one before. So nothing need be done on
// the way out, and conditional jumps are linked themselves. (What is left of a loop's branch that falls through is an empty block.)
void Translator::plan_counts() {
  blocks_.clear();
  blocks_counted_ = 0;
  if (!counting() || !options_.count_paths) return;
  for (uint16_t begin = 0, end = 0; begin < superblock_->count; begin = end) {
    end = static_cast<uint16_t>(next_exit(begin) + 1u);
    if (end > superblock_->count) end = static_cast<uint16_t>(superblock_->count);
    blocks_.push_back(place_of_count(begin, end));
  }
}

// Before the first instruction that finds the flags dead, as nearly every block has one; behind the block they count as live. Who steps
// through the program sees its own.
Translator::BlockCount Translator::place_of_count(uint16_t begin, uint16_t end) const {
  const Flow flow = superblock_->instructions[end - 1].flow;
  const bool indirect = flow == Flow::kIndirectCall || flow == Flow::kIndirectJump || flow == Flow::kReturn;
  BlockCount place{indirect ? kOnTheWayOut : begin, false};
  if (purpose_ == Purpose::kStep) return place;
  if (begin == 0 && flags_dead_) return {begin, true};
  FlagSet live = kArithmeticFlags;
  for (uint16_t k = end; k-- > begin;) {
    const Instruction& i = superblock_->instructions[k];
    live = static_cast<FlagSet>((live & ~i.flags_overwritten) | (i.flags_read & kArithmeticFlags));
    if (live == 0) place = {k, true};
  }
  return place;
}

uint8_t Translator::buffer_register(const DecodedSuperblock& superblock, const Wishes& wishes) {
  superblock_ = &superblock;
  return has_pointer() ? least_used(wishes) : kNoRegister;
}

// entry: spill[B] = B; B = buffer; goto check                             in the cold area: who has B already goes to `check`
// check: [keep the flags if they are live]; [compare the application's bytes]; if (limit <= B) goto slow; [flags back]
//        (null mode: if (limit == 0) goto slow)
// Where flags are live and nothing else needs them changed, the check goes without: limit_check_without_flags.
void Translator::prologue() {
  Assembler& a = *out_;
  const bool checks_limit = purpose_ == Purpose::kOrdinary && needs_check();
  const bool without_flags = checks_limit && !flags_dead_ && !superblock_->changeable && buffer_ != kRcx;
  uint8_t* slow = nullptr;
  current_ = 0;
  if (without_flags) {
    a.jmp_short(kSlowJump);   // for the verification of an indirect target, which comes right before this
    slow = a.jmp_forward();
  }
  result_->entry = result_->check = result_->body = a.size();
  if (has_pointer()) {
    result_->entry = static_cast<uint32_t>(cold_->here() - (a.here() - a.size()));
    cold_->store_gs(offsetof(ThreadContext, spill) + 8 * buffer_, buffer_);
    cold_->load_gs(buffer_, pointer_slot());
    cold_->jmp(a.here());
  }
  mark(held());
  if (without_flags) {
    a.bind(slow, cold_->here());
    limit_check_without_flags();
    if (!options_.calls_off_look_ups()) result_->body = a.size();
    return;
  }
  const Instruction& first = superblock_->instructions[0];
  const bool pops_flags = is_one_byte(first, kPopFlagsOpcode) && first.flow == Flow::kNext;
  if (!checks_limit && !superblock_->changeable && !pops_flags) return;
  keep_flags(a);
  if (superblock_->changeable) {
    if (options_.counts_comparisons && purpose_ == Purpose::kOrdinary) count_comparison();
    compare_code();
  }
  if (checks_limit) limit_check();
  if (checks_limit && !flags_kept_ && !pops_flags && !options_.calls_off_look_ups()) result_->body = a.size();
  give_back_flags(a);
  if (pops_flags) test_trap_flag();
}

// goto leave: to come back into the code of a step. What follows never runs.
void Translator::ask_for_fpu_pointer() {
  flags_kept_ = false;   // given back
  mark(held());
  out_->jmp(cold_->here());
  leave_from_prologue(ExitKind::kFpuPointer);
}

// if (the trap flag is set in what the first instruction, a popf, will load) leave; the other flags are dead here
void Translator::test_trap_flag() {
  static constexpr uint8_t kTest[] = {0x0f, 0xba, 0x24, 0x24, 8};   // bt dword [rsp], 8
  CHECK(flags_dead_);
  mark(held());
  out_->bytes(kTest, sizeof kTest);
  out_->jcc(kBelow, cold_->here());
  leave_from_prologue(ExitKind::kPopFlags);
}

// Where look-ups of indirect targets can be called off, a thread that goes on for ever without one goes backwards by direct jumps again and
// again, or calls again and again: then it raises the stack pointer again and again, not by a return, or has no stack left. So these two
// kinds of superblocks look at the limit. So do those that call backwards what calls on, lest a signal waits for the end of a descent. And
// all that may be found at place 0 of the table, where look-ups lead when they are called off: also of one with few places.
bool Translator::needs_check() const {
  if (!options_.calls_off_look_ups() || calls_again_) return true;
  if (indirect_index(superblock_->pc, options_.bmi2) % kFewIndirectPlaces == 0) return true;
  bool raises_stack_pointer = false;
  for (uint32_t k = 0; k < superblock_->count; ++k) {
    const Instruction& i = superblock_->instructions[k];
    const bool jump = i.flow == Flow::kConditional || i.flow == Flow::kCountedJump || i.flow == Flow::kJump;
    if (jump && raw(i.target) <= raw(i.pc)) return true;
    if (raises_stack_pointer && (jump || i.flow == Flow::kCall)) return true;
    const bool lowers = i.distance_dest == kRsp && i.distance_source == kRsp && i.distance_delta <= 0;
    if ((i.gpr_written & bit(kRsp)) != 0 && !lowers) raises_stack_pointer = true;
  }
  const Flow last = superblock_->instructions[superblock_->count - 1].flow;
  return raises_stack_pointer && (last == Flow::kNext || last == Flow::kInterrupt);
}

void Translator::limit_check() {
  Assembler& a = *out_;
  if (has_pointer())
    a.cmp_gs(buffer_, offsetof(ThreadContext, limit));
  else
    a.cmp_gs_zero(offsetof(ThreadContext, limit));
  a.jcc(has_pointer() ? kAboveEqual : kEqual, cold_->here());
  leave_from_prologue(ExitKind::kCheck);
}

// spill rcx; rcx = limit; if (rcx == 0) goto slow; rcx back             null mode. `slow`: the jump before the entry
// spill rcx; rcx = B - limit; its highest byte is 0 unless B is below the limit: if (that byte == 0) goto slow; rcx back
// lea, bswap, movzx and jrcxz leave the flags alone.
void Translator::limit_check_without_flags() {
  Assembler& a = *out_;
  constexpr uint32_t rcx_slot = offsetof(ThreadContext, spill) + 8 * kRcx;
  a.store_gs(rcx_slot, kRcx);
  if (has_pointer()) {
    a.load_gs(kRcx, offsetof(ThreadContext, minus_limit));
    a.lea_sum(kRcx, kRcx, buffer_);
    a.bswap_rcx();
    a.movzx_ecx_cl();
  } else {
    a.load_gs(kRcx, offsetof(ThreadContext, limit));
  }
  a.jrcxz_back(a.size() - result_->check + kSlowJump + 2);
  a.load_gs(kRcx, rcx_slot);
  cold_->load_gs(kRcx, rcx_slot);
  leave_from_prologue(ExitKind::kCheck);
}

uint32_t Translator::pointer_slot() const {
  return tracing() ? offsetof(ThreadContext, buffer) : offsetof(ThreadContext, retired);
}

uint32_t Translator::lent_pointer_slot() const {
  return tracing() ? offsetof(ThreadContext, lent_pointer) : offsetof(ThreadContext, retired);
}

uint32_t Translator::counter_of(uint32_t path) const {
  return static_cast<uint32_t>(border::kSlotStride) + 4 * (first_path_ + path);
}

void Translator::store_pointer(Assembler& a) {
  if (has_pointer()) a.store_gs(pointer_slot(), buffer_);
}

void Translator::load_pointer(Assembler& a) { a.load_gs(buffer_, pointer_slot()); }

// While the register holds something else amid a superblock. In trace mode the slot must not have it, for the consumer would take words of half a path.
void Translator::lend_pointer(Assembler& a) { a.store_gs(lent_pointer_slot(), buffer_); }

void Translator::take_pointer_back(Assembler& a) { a.load_gs(buffer_, lent_pointer_slot()); }

// ah, al = flags; rax in flags_spill. When rax holds the buffer pointer there is nothing of the application's in it.
void Translator::keep_flags(Assembler& a) {
  // Code that can change may be other code by now, which reads them: kept for the way out, where compare_code finds it so.
  flags_kept_ = !flags_dead_ || superblock_->changeable;
  if (!flags_kept_) return;
  if (buffer_ == kRax) {
    store_pointer(a);
    a.store_gs(offsetof(ThreadContext, flags_spill), kRcx);
    a.lahf_seto();
    a.mov(kRcx, kRax);
    load_pointer(a);
  } else {
    a.store_gs(offsetof(ThreadContext, flags_spill), kRax);
    a.lahf_seto();
  }
}

void Translator::give_back_flags(Assembler& a) {
  if (!flags_kept_) return;
  const bool wanted = !flags_dead_ || &a == cold_;
  if (buffer_ == kRax) {
    a.mov(kRax, kRcx);
    if (wanted) a.restore_flags_from_rax();
    load_pointer(a);
    a.load_gs(kRcx, offsetof(ThreadContext, flags_spill));
  } else {
    if (wanted) a.restore_flags_from_rax();
    a.load_gs(kRax, offsetof(ThreadContext, flags_spill));
  }
}

// if (comparisons_left-- == 0) goto compared. The flags are kept already.
void Translator::count_comparison() {
  out_->dec_gs32(offsetof(ThreadContext, comparisons_left));
  out_->jcc(kBelow, cold_->here());
  leave_from_prologue(ExitKind::kCompared);
}

// p = pc; if (bytes at p differ) goto stale; p as before. p is the buffer register, or one that is spilled for it.
void Translator::compare_code() {
  Assembler& a = *out_;
  const uint8_t p = has_pointer() ? buffer_ : comparer_;
  CHECK(p != kRax);
  if (has_pointer())
    store_pointer(a);
  else
    a.store_gs(offsetof(ThreadContext, spill) + 8 * p, p);
  pointer_lent_ = true;
  mark(bit(p));
  result_->recovery.back().comparing = true;
  a.mov_imm(p, raw(superblock_->pc));
  uint8_t code[15 * kMaxChangeableInstructions];
  uint32_t size = 0;
  for (uint32_t k = 0; k < superblock_->count; ++k) {
    const Instruction& i = superblock_->instructions[k];
    __builtin_memcpy(code + size, i.bytes, i.length);
    size += i.length;
  }
  const uint64_t stale = cold_->here();
  result_->stale = stale;
  leave_from_prologue(ExitKind::kStale);
  for (uint32_t at = 0; at < size;) {
    // Aligned accesses only: the application may have alignment checks on.
    const bool whole = ((raw(superblock_->pc) + at) & 3) == 0 && at + 4 <= size;
    if (whole) {
      uint32_t value;
      __builtin_memcpy(&value, code + at, 4);
      a.cmp_dword(p, static_cast<int32_t>(at), value);
    } else {
      a.cmp_byte(p, static_cast<int32_t>(at), code[at]);
    }
    a.jcc(kNotEqual, stale);
    at += whole ? 4 : 1;
  }
  if (has_pointer())
    load_pointer(a);
  else
    a.load_gs(p, offsetof(ThreadContext, spill) + 8 * p);
  pointer_lent_ = false;
}

// The registers and flags of the entry, then the dispatcher.
void Translator::leave_from_prologue(ExitKind kind) {
  Assembler& a = *cold_;
  // compare_code has stored the pointer, and so has keep_flags with rax.
  if (kind != ExitKind::kStale && !(flags_kept_ && buffer_ == kRax)) store_pointer(a);
  if (flags_kept_) give_back_flags(a);
  if (has_pointer()) a.load_gs(buffer_, offsetof(ThreadContext, spill) + 8 * buffer_);
  if (kind == ExitKind::kStale && !has_pointer()) a.load_gs(comparer_, offsetof(ThreadContext, spill) + 8 * comparer_);
  leave_for(new_exit(superblock_->pc, kind), a);
}

GprSet Translator::held() const {
  return static_cast<GprSet>((has_pointer() ? bit(buffer_) : 0) | (anchor_in_use_ ? bit(anchor_) : 0));
}

void Translator::mark(GprSet in_spill) {
  const bool pointer = has_pointer() && !pointer_lent_ && (in_spill & bit(buffer_)) != 0;
  result_->recovery.push_back({out_->size(), current_, words_.words(), counted_, moved_, blocks_counted_, in_spill, pointer});
}

void Translator::instruction(const Instruction& i) {
  const size_t operands_before = result_->operands.size();
  if (tracing()) store_words_before(i);
  result_->operands_per_instruction.push_back(static_cast<uint16_t>(result_->operands.size() - operands_before));
  switch (i.flow) {
    case Flow::kNext:
      if (commits_early(i)) commit(static_cast<uint32_t>(result_->paths.size()));
      copy(i);
      if (!i.writes_fs_base && !i.writes_gs_base) break;
      end_at(i.pc + i.length, i.writes_fs_base ? ExitKind::kFsBase : ExitKind::kGsBase);
      ended_ = true;
      break;
    case Flow::kInterrupt:
      if (is_int80(i)) {
        end_at(i.pc + i.length, ExitKind::kSyscall32);
        ended_ = true;
      } else {
        copy(i);
      }
      break;
    case Flow::kConditional: conditional(i); break;
    case Flow::kCountedJump: counted_jump(i); break;
    case Flow::kJump: end_at(i.target, ExitKind::kDirect); break;
    case Flow::kCall: call(i); break;
    case Flow::kIndirectJump:
    case Flow::kIndirectCall: indirect(i); break;
    case Flow::kReturn: return_(i); break;
    case Flow::kSyscall: end_at(i.pc + i.length, ExitKind::kSyscall); break;
    case Flow::kUnsupported: end_at(i.pc, ExitKind::kUnsupported); break;
  }
  if (!tracing()) return;
  store_words_after(i);
  words_.step(i);
}

uint32_t Translator::new_exit(AppAddress target, ExitKind kind) {
  const AppAddress from = superblock_->instructions[current_ < superblock_->count ? current_ : current_ - 1u].pc;
  const bool forward = !tracing() && !options_.count_paths && kind == ExitKind::kDirect &&
                       is_forward(superblock_->pc, from, target, options_.exact_stops);
  const auto words = static_cast<uint16_t>(tracing() ? 1 + words_.words() : 0);
  result_->exits.push_back({target, 0, 0, kind, forward, words});
  return static_cast<uint32_t>(result_->exits.size() - 1);
}

// The path of everything up to and including the current instruction.
uint32_t Translator::new_path() {
  if (!has_pointer()) return 0;
  uint16_t retired = static_cast<uint16_t>(current_ + 1);
  if (current_ == superblock_->count) retired = current_;
  result_->paths.push_back({retired, static_cast<uint16_t>(result_->operands.size()), words_.words()});
  return static_cast<uint32_t>(result_->paths.size() - 1);
}

// The conditional jump at or behind the instruction, or the end.
uint32_t Translator::next_exit(uint32_t instruction) const {
  while (instruction < superblock_->count && superblock_->instructions[instruction].flow != Flow::kConditional &&
         superblock_->instructions[instruction].flow != Flow::kCountedJump)
    ++instruction;
  return instruction;
}

// B += instructions up to and with the next conditional exit, so that nothing is left to be done on the way out. Not right before it: that
// would part the comparison from its jump, which processors do as one. A fault in between takes back what is too much.
void Translator::count_to_next_exit() {
  const uint32_t exit = next_exit(current_);
  if (exit == superblock_->count) return;   // commit counts the rest
  out_->lea(buffer_, buffer_, static_cast<int32_t>(exit + 1) - counted_);
  counted_ = static_cast<uint16_t>(exit + 1);
}

// Trace mode: before the instruction that is before a conditional exit, so that a comparison stays with its jump.
bool Translator::commits_early(const Instruction& i) const {
  if (!tracing() || current_ + 1u >= superblock_->count || next_exit(current_ + 1u) != current_ + 1u) return false;
  for (uint32_t k = 0; k < i.memory_operands; ++k)
    if (i.memory[k].form == border::OperandForm::kRepeatString) return false;   // has words to be stored behind it
  return true;
}

// [B's place at the entry] = path id; B += 8 * (words since B moved)              count mode: B += instructions of the path
// Before each exit, and so that nothing is left to be done on the way out.
// With a live pointer the line behind is asked for early: the reader's processor has it, perhaps, and a store that waits for it holds up all
// others.
void Translator::commit(uint32_t path) {
  Assembler& a = *out_;
  if (counting()) {
    const int32_t rest = result_->paths[path].instructions - counted_;
    if (rest != 0) a.lea(buffer_, buffer_, rest);
  }
  if (!tracing() || path < committed_) return;
  a.store_imm32(buffer_, place_of_word(0), first_path_ + path);
  if (committed_ == 0 && options_.live_pointer) a.prefetch_to_write(buffer_, kPrefetchBytes);
  const auto words = static_cast<uint16_t>(1 + words_.words());
  if (words != moved_) a.lea(buffer_, buffer_, place_of_word(words));
  moved_ = words;
  committed_ = path + 1;
}

// The next block's counter += 1. Where the flags are the application's: by way of a register that the superblock does not use, else of B,
// which everything waits for.
void Translator::count_block() {
  Assembler& a = *out_;
  if (blocks_[blocks_counted_].flags_dead) {
    a.inc_gs32(counter_of(blocks_counted_++));
  } else if (anchor_ != kNoRegister && !anchor_in_use_) {
    a.store_gs(spill_slot(anchor_), anchor_);
    count_by(anchor_);
    a.load_gs(anchor_, spill_slot(anchor_));
  } else {
    lend_pointer(a);
    count_by(buffer_);
    take_pointer_back(a);
  }
}

// The next block's counter += 1, without flags.
void Translator::count_by(uint8_t scratch) {
  const uint32_t counter = counter_of(blocks_counted_++);
  out_->load_gs32(scratch, counter);
  out_->lea(scratch, scratch, 1);
  out_->store_gs32(counter, scratch);
}

void Translator::restore_anchor(bool in_use) {
  if (in_use) out_->load_gs(anchor_, offsetof(ThreadContext, spill) + 8 * anchor_);
}

// What a direct exit's jump leads to in the cold area until it is linked. Count mode: retired = B; B = spill[B]; jmp target, to the stub
// until linked.
void Translator::cold_way(uint32_t exit) {
  if (has_pointer()) {
    store_pointer(*cold_);
    cold_->load_gs(buffer_, spill_slot(buffer_));
    cold_->align_patchable(1);
    result_->exits[exit].patch = static_cast<uint32_t>(cold_->here() + 1 - (out_->here() - out_->size()));
    cold_->jmp(cold_->here() + 5);
  }
  leave_for(exit, *cold_);
}

// restore the anchor; jmp target (to cold_way until linked), the last instruction of the hot code for what falls through
void Translator::direct_exit(uint32_t exit, bool anchor_in_use) {
  Assembler& a = *out_;
  restore_anchor(anchor_in_use);
  TranslationOutput::ExitSite& site = result_->exits[exit];
  a.align_patchable(1);
  (has_pointer() ? site.patch_same_buffer : site.patch) = a.size() + 1;
  a.jmp(cold_->here());
  cold_way(exit);
}

// An exit stub: exit_id = exit; jmp leave
void Translator::leave_for(uint32_t exit, Assembler& a) {
  a.store_gs_imm32(offsetof(ThreadContext, exit_id), first_exit_ + exit);
  a.jmp(options_.leave);
}

void Translator::end_at(AppAddress target, ExitKind kind) {
  const uint32_t exit = new_exit(target, kind);
  const uint32_t path = new_path();
  commit(path);
  if (kind == ExitKind::kDirect) {
    direct_exit(exit, anchor_in_use_);
    return;
  }
  restore_anchor(anchor_in_use_);
  if (has_pointer()) {
    store_pointer(*out_);
    out_->load_gs(buffer_, offsetof(ThreadContext, spill) + 8 * buffer_);
  }
  leave_for(exit, *out_);
}

}  // namespace simrun::engine
