// Translation of one superblock into the code cache: the application's instructions copied, its control transfers replaced by exits,
// and, in trace mode, the stores of block and address words between them (docs/translation.md).
//
// The same class recovers the application's state at a fault: translating the same bytes again at the same place yields the same
// code, and with it the recovery point of every byte; nothing needs to be kept per instruction. So the output must depend on
// nothing but the instructions, the options and the place.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "instr/border/shared_memory.h"
#include "instr/engine/context/thread_context.h"
#include "instr/engine/emit/x86_64/assembler.h"
#include "instr/engine/translate/superblock.h"
#include "instr/engine/translate/word_map.h"

namespace simrun::engine {

// Fixed for a run.
struct TranslationOptions {
  border::Mode mode = border::Mode::kNull;   // kTrace: words into the buffer; kCount: instructions retired; kNull: translation only
  bool share_words = true;
  uint32_t max_instructions = kMaxSuperblockInstructions;
  bool avx512bw = true;       // kmovq
  bool bmi2 = true;           // rorx
  uint64_t leave = 0;         // code addresses of the fixed routines (runtime/fixed_routines.h)
  const border::WatchedEntries* watched = nullptr;   // null: calls are not watched
  bool count_paths = false;   // kCount: a counter for each path, which counts its last block
  uint64_t indirect_miss = 0;
  bool loop_is_fast = false;
  bool unroll_loops = true;   // asked by who forms superblocks (code_table.cpp)
  bool exact_stops = false;   // kCount: threads are stopped at exact numbers of instructions, so checks must not be far apart
  bool pext_is_fast = false;
  // kTrace: words go where somebody else reads them: each superblock stores the buffer pointer at its beginning, and asks for lines early.
  bool live_pointer = false;
  bool counts_comparisons = false;   // of code that can change: ThreadContext::comparisons_left
  bool fs_is_ours = false;           // the FS base, too, is not the application's
  bool has_tiles = true;             // AMX; where there are none their instructions fault

  // Who reads what a run writes needs descriptors of its superblocks and paths (border/descriptors.h).
  bool describes_paths() const { return mode == border::Mode::kTrace || (mode == border::Mode::kCount && count_paths); }
  // Indirect transfers take the place of their target in the table by ThreadSlot::indirect_mask.
  bool calls_off_look_ups() const { return pext_is_fast && mode != border::Mode::kTrace && !exact_stops; }
};

// Indirect transfers hand the buffer pointer on in this register, whose own value is in its spill slot then: the two sides do not know each
// other, and through memory it would be late (measured, count mode).
inline constexpr uint8_t kHandedOn = kR10;
void hand_on(Assembler& a, uint8_t from, uint8_t to);   // spill[to] = to; to = from; from = spill[from]

// Whose values before and after tell the iterations of a repeated string instruction.
uint8_t string_register(const Instruction& i);

// The entry of the table of indirect targets for `pc`. Shifted where that costs no flags: neighbouring targets then share cache lines of
// the table, and its reach is four times as long.
constexpr uint16_t indirect_index(AppAddress pc, bool bmi2) {
  return static_cast<uint16_t>(bmi2 ? raw(pc) >> kIndirectShift : raw(pc));
}

// Where the application's state is, from a code offset (relative to the superblock's first byte) on.
struct RecoveryPoint {
  uint32_t offset;
  uint16_t instruction;       // the application is before this instruction (== count: behind the last)
  uint16_t words;             // address words stored
  uint16_t counted;           // count mode: how many instructions of this execution the register or slot has already
  uint16_t moved;             // trace mode: how many of its words the buffer pointer has passed, the id included
  uint16_t blocks;            // count_paths: how many of its blocks have been counted
  GprSet in_spill;            // registers whose application value is in their spill slot
  bool pointer_in_register;   // the buffer register holds the pointer (else it is in its slot of the context)
  bool comparing = false;     // at the comparison of changeable code
  uint8_t string_element = 0; // count_paths: bytes of an element, at a string instruction whose rcx elements are counted already
};

// What one translation needs beside its code.
struct TranslationOutput {
  uint32_t entry, check, body, size;                      // offsets from the superblock's first hot byte (entry: some have a jump before it)
  uint32_t cold_size;
  uint8_t buffer_register;
  struct ExitSite {
    AppAddress target;
    uint32_t patch, patch_same_buffer;              // offsets, 0: none
    ExitKind kind;
    bool forward;
    uint16_t words;                                 // trace mode: of its path, the id included
  };
  std::vector<ExitSite> exits;
  struct Path {
    uint16_t instructions, operands, words;
  };
  std::vector<Path> paths;                          // path k has id first_path + k
  uint64_t stale;                                   // code address where changeable code that has changed goes on; 0: cannot change
  std::vector<border::OperandDescriptor> operands;  // of the whole superblock
  std::vector<uint16_t> operands_per_instruction;
  std::vector<RecoveryPoint> recovery;
  void clear();
};

class Translator {
 public:
  explicit Translator(const TranslationOptions& options) : options_(options) {}

  // Upper bound of the code bytes of a superblock, hot and cold each.
  static uint32_t size_bound(const DecodedSuperblock& superblock);

  // How many neighbours have the buffer pointer in which register: from there and to there it need not be handed on.
  using Wishes = std::array<uint8_t, 16>;
  // The register to give to `translate`: of those that the superblock uses least the one with most wishes. kNoRegister in null mode.
  uint8_t buffer_register(const DecodedSuperblock& superblock, const Wishes& wishes);

  // In count mode the buffer register holds the number of retired instructions, and `limit` is a number of instructions.
  //
  // Emits at `out` and `cold`, whose positions are the superblock's first bytes. `first_path`: id of the first path, `first_exit`: exit id of
  // the first exit.
  // `flags_dead`: nobody needs the flags at the entry (superblock.h, entry_liveness). `view`: how far from `out` the code is executed
  // (code_cache.h). `buffer`: the buffer register; kNoRegister: the one without wishes. `calls_again`: it ends in a call backwards, of a
  // function that may call on (may_call_again).
  void translate(const DecodedSuperblock& superblock, Purpose purpose, bool flags_dead, uint32_t first_path, uint32_t first_exit, Assembler& out,
                 Assembler& cold, TranslationOutput& result, uint64_t view = 0, uint8_t buffer = kNoRegister, bool calls_again = false);

 private:
  // A side exit with work to do on the way out, emitted behind the main path.
  struct SideExit {
    uint8_t* jump;            // displacement to bind
    uint32_t exit;
    bool anchor_in_use;
  };

  // Before which instruction a block is counted, and whether the flags are dead there.
  struct BlockCount {
    uint16_t before;
    bool flags_dead;
  };
  static constexpr uint16_t kOnTheWayOut = 0xffff;   // by jump_indirect, which has a register for it

  bool ends_in_look_up() const;
  uint8_t least_used(const Wishes& wishes) const;
  void choose_scratch(uint8_t buffer);
  void prologue();
  bool needs_check() const;
  void keep_flags(Assembler& a);
  void give_back_flags(Assembler& a);
  void limit_check();
  void limit_check_without_flags();
  void plan_counts();
  BlockCount place_of_count(uint16_t begin, uint16_t end) const;
  uint32_t next_exit(uint32_t instruction) const;
  uint32_t counter_of(uint32_t path) const;   // from the GS base
  void count_block();
  void count_by(uint8_t scratch);
  uint8_t counted_element(const Instruction& i) const;
  void count_string(const Instruction& i, bool behind);
  void store_pointer(Assembler& a);
  void load_pointer(Assembler& a);
  void lend_pointer(Assembler& a);
  void take_pointer_back(Assembler& a);
  void count_comparison();
  void compare_code();
  void test_trap_flag();
  void ask_for_fpu_pointer();
  void leave_from_prologue(ExitKind kind);   // in the cold area
  GprSet held() const;        // registers that hold something of ours between instructions
  void mark(GprSet in_spill);
  void instruction(const Instruction& i);
  void store_words_before(const Instruction& i);
  void store_words_after(const Instruction& i);
  void describe(const Instruction& i, const MemoryOperand& m);
  void describe_registers(const Instruction& i, std::initializer_list<uint8_t> registers);
  bool is_watched(AppAddress pc) const;
  WordMap::Use word_for(const Instruction& i, uint8_t reg);
  WordMap::Use own_word(const Instruction& i, uint8_t reg);
  void store_word(const Instruction& i, uint16_t word, uint8_t reg);
  void store_vector(uint16_t word, uint8_t vector, uint8_t bytes);
  void store_mask(uint16_t word, uint8_t k);
  void store_tile_configuration(uint16_t word);
  void place_words(uint8_t reg, uint16_t word);

  void copy(const Instruction& i);
  void copy_bytes(const Instruction& i, const uint8_t* code, uint8_t length);
  void copy_rip_relative(const Instruction& i, const uint8_t* code, uint8_t length, uint64_t target);
  bool is_of_segment(const Instruction& i) const;
  void copy_of_segment(const Instruction& i, const uint8_t* code, uint8_t length);
  void copy_with_sum(const Instruction& i, const uint8_t* code, uint8_t length, const MemoryOperand& operand);
  void copy_with_gs_base(const Instruction& i, const uint8_t* code, uint8_t length);
  void copy_with_operand(const Instruction& i, const uint8_t* code, uint8_t length, uint8_t base, int32_t disp);
  void mark_behind(const Instruction& i, GprSet in_spill);
  uint8_t register_around(const Instruction& i, uint8_t other) const;
  uint8_t base_around(const Instruction& i) const;
  bool is_free_around(const Instruction& i, uint8_t r) const;
  static void name_base(const Instruction& i, uint8_t* code, uint8_t base);
  struct RipBase {
    uint8_t reg;
    int32_t disp;
    bool local;               // to be given back after the instruction
    GprSet around;            // recovery state outside
  };
  int64_t rip_distance(uint8_t length, uint64_t target) const;
  bool reaches(uint8_t length, uint64_t target) const;
  RipBase take_rip_base(const Instruction& i, uint64_t target);
  void release_rip_base(const RipBase& base);
  void copy_with_base(const Instruction& i, const uint8_t* code, uint8_t length, const RipBase& base);
  bool absolute_form(const Instruction& i, const uint8_t* code, uint8_t length, uint64_t target);

  void conditional(const Instruction& i);
  void counted_jump(const Instruction& i);
  void call(const Instruction& i);
  void indirect(const Instruction& i);
  void return_(const Instruction& i);
  void load_target(const Instruction& i);
  void push_return_address(const Instruction& i);
  void place_constant();
  void jump_indirect();
  void end_at(AppAddress target, ExitKind kind);

  uint32_t new_exit(AppAddress target, ExitKind kind);
  uint32_t new_path();
  void count_to_next_exit();
  bool commits_early(const Instruction& i) const;
  void commit(uint32_t path);
  int32_t place_of_word(uint16_t word) const { return 8 * (int32_t{word} - moved_); }   // from the buffer pointer
  void restore_anchor(bool in_use);
  void cold_way(uint32_t exit);
  void direct_exit(uint32_t exit, bool anchor_in_use);
  void leave_for(uint32_t exit, Assembler& a);

  bool tracing() const { return options_.mode == border::Mode::kTrace; }
  bool counting() const { return options_.mode == border::Mode::kCount; }
  bool has_pointer() const { return options_.mode != border::Mode::kNull; }
  uint32_t pointer_slot() const;              // of the context: what the buffer register holds
  uint32_t lent_pointer_slot() const;         // the same, while the register is lent
  bool touches(const Instruction& i, uint8_t r) const { return ((i.gpr_read | i.gpr_written) & bit(r)) != 0; }
  uint8_t register_unused_by(const Instruction& i, bool low) const;

  TranslationOptions options_;
  // State of one call of translate().
  const DecodedSuperblock* superblock_ = nullptr;
  Assembler* out_ = nullptr;
  Assembler* cold_ = nullptr;
  TranslationOutput* result_ = nullptr;
  WordMap words_;
  uint32_t first_path_ = 0, first_exit_ = 0;
  uint64_t view_ = 0;
  uint16_t current_ = 0;               // instruction being translated
  Purpose purpose_ = Purpose::kOrdinary;
  uint8_t buffer_ = kNoRegister;       // trace: holds the buffer pointer; count: the number of retired instructions
  bool pointer_lent_ = false;          // the buffer register holds something else for a while
  uint16_t counted_ = 0;               // count mode: instructions of this execution that the buffer register has already
  uint16_t moved_ = 0;                 // trace mode: words of this execution that the buffer pointer has passed
  uint32_t committed_ = 0;             // trace mode: paths whose ids are stored on the way
  std::vector<BlockCount> blocks_;     // count_paths: of each block
  uint16_t blocks_counted_ = 0;        // of this execution
  uint8_t anchor_ = kNoRegister;       // free for the whole superblock: base of unreachable rip-relative operands
  bool ended_ = false;                 // the last instruction's exit is emitted already
  bool anchor_in_use_ = false;
  uint64_t anchor_value_ = 0;
  bool flags_dead_ = false;
  bool flags_kept_ = false;            // by keep_flags, around the checks
  bool calls_again_ = false;
  uint8_t comparer_ = kNoRegister;     // null mode: base register of the comparison of changeable code
  std::vector<SideExit> side_exits_;
  uint64_t constant_ = 0;              // of the call that ends the superblock
  uint8_t* constant_use_ = nullptr;
};

}  // namespace simrun::engine
