// What of a translation is not in the golden code: where links may enter it, and which exits go there.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "instr/engine/codecache/code_cache.h"
#include "instr/engine/translate/address_space.h"
#include "instr/engine/translate/translator.h"

namespace simrun::engine {
namespace {

constexpr uint64_t kPc = 0x401000;

struct Translated {
  TranslationOutput output;
  std::vector<uint8_t> hot, cold;
};

DecodedSuperblock decoded(const std::vector<uint8_t>& code, bool changeable = false, uint64_t pc = kPc) {
  DecodedSuperblock superblock{};
  superblock.pc = AppAddress{pc};
  superblock.changeable = changeable;
  for (uint32_t at = 0; at < code.size();) {
    Instruction& i = superblock.instructions[superblock.count++];
    EXPECT_TRUE(decode(code.data() + at, static_cast<uint32_t>(code.size() - at), AppAddress{pc + at}, i));
    at += i.length;
  }
  return superblock;
}

Translated translate(const DecodedSuperblock& superblock, border::Mode mode, bool flags_dead, bool count_paths = false) {
  Translator translator({.mode = mode, .leave = 0x7ffff8000040, .count_paths = count_paths});
  Translated t;
  t.hot.resize(Translator::size_bound(superblock)), t.cold.resize(t.hot.size());
  Assembler out(t.hot.data(), 0x7ffff8010000), cold(t.cold.data(), 0x7ffffa000000);
  translator.translate(superblock, Purpose::kOrdinary, flags_dead, 1000, 16, out, cold, t.output);
  return t;
}

Translated translate(const std::vector<uint8_t>& code, border::Mode mode, bool flags_dead, bool count_paths = false, bool changeable = false) {
  return translate(decoded(code, changeable), mode, flags_dead, count_paths);
}

// test %eax, %eax ; jz +3 ; test %ecx, %ecx ; jz -8 (to the start)
const std::vector<uint8_t> kThereAndBack = {0x85, 0xc0, 0x74, 0x03, 0x85, 0xc9, 0x74, 0xf8};

TEST(Exits, ForwardOnesGoBehindTheCheck) {
  for (const auto mode : {border::Mode::kNull, border::Mode::kCount}) {
    const Translated t = translate(kThereAndBack, mode, true);
    ASSERT_EQ(t.output.exits.size(), 4u);                    // the check; there; back; the fall-through
    EXPECT_TRUE(t.output.exits[1].forward);
    EXPECT_FALSE(t.output.exits[2].forward);
    EXPECT_TRUE(t.output.exits[3].forward);
    EXPECT_GE(t.output.body, t.output.check + 5);            // room for the jump of a superblock that is dropped
  }
}

// The jump at the end, to what is translated right behind it, becomes a nop; a conditional one stays.
TEST(Exits, AJumpToWhatComesNextIsDropped) {
  CodeCache cache;
  ASSERT_TRUE(cache.create(1 << 20));
  const Translated t = translate(kThereAndBack, border::Mode::kNull, true);
  std::copy(t.hot.begin(), t.hot.begin() + t.output.size, cache.write_pointer(0));
  const auto& exits = t.output.exits;
  ASSERT_EQ(exits[3].patch + 4, t.output.size);
  EXPECT_FALSE(cache.drop_jump(exits[1].patch));
  EXPECT_TRUE(std::equal(t.hot.begin(), t.hot.begin() + t.output.size, cache.write_pointer(0)));
  EXPECT_TRUE(cache.drop_jump(exits[3].patch));
  const std::vector<uint8_t> nop = {0x0f, 0x1f, 0x44, 0, 0};
  EXPECT_TRUE(std::equal(nop.begin(), nop.end(), cache.write_pointer(t.output.size - 5)));
  EXPECT_TRUE(std::equal(t.hot.begin(), t.hot.begin() + (t.output.size - 5), cache.write_pointer(0)));
}

// There levels decide (guest forward_chains).
TEST(Exits, NoneIsForwardWhileTracing) {
  for (const auto& exit : translate(kThereAndBack, border::Mode::kTrace, true).output.exits) EXPECT_FALSE(exit.forward);
}

TEST(Exits, NothingElseIsPassedBy) {
  // Code that can change.
  const Translated changeable = translate(kThereAndBack, border::Mode::kNull, true, false, true);
  EXPECT_EQ(changeable.output.body, changeable.output.check);
}

// Where paths are counted the next stop may be as near as one superblock is long.
TEST(Exits, CountedPathsMeetEveryCheck) {
  for (const auto& exit : translate(kThereAndBack, border::Mode::kCount, true, true).output.exits) EXPECT_FALSE(exit.forward);
}

// Each block once, where its flags are dead; a fault finds which counters have been raised.
TEST(Exits, BlocksAreCountedBeforeTheirFlagsAreWritten) {
  // sete %dl ; test %eax, %eax ; jz +2 ; mov %ecx, %edx ; ret
  const std::vector<uint8_t> code = {0x0f, 0x94, 0xc2, 0x85, 0xc0, 0x74, 0x02, 0x89, 0xca, 0xc3};
  const auto increments = [](const Translated& t) {
    const std::vector<uint8_t> inc{0x65, 0xff, 0x04, 0x25};
    int count = 0;
    for (auto at = t.hot.begin(); (at = std::search(at, t.hot.end(), inc.begin(), inc.end())) != t.hot.end(); ++at) ++count;
    return count;
  };
  const auto blocks = [](const Translated& t) {
    std::vector<int> result;
    for (const auto& p : t.output.recovery)
      if (p.offset > t.output.body) result.push_back(p.blocks);
    return result;
  };
  const Translated live = translate(code, border::Mode::kCount, false, true);
  EXPECT_EQ(increments(live), 1);                            // before the test; the last on the way out, without flags
  EXPECT_EQ(blocks(live), (std::vector<int>{0, 0, 1, 1, 1, 1, 1}));   // before and behind the copies; before the ret
  EXPECT_EQ(increments(translate(code, border::Mode::kCount, true)), 0);
}

TEST(Exits, CountingGoesForwardsWithinAWindow) {
  const auto at = [](uint64_t address) { return AppAddress{address}; };
  EXPECT_TRUE(is_forward(at(0x1000), at(0x1010), at(0x1020), true));
  EXPECT_FALSE(is_forward(at(0x1000), at(0x10f0), at(0x1000 + kForwardWindow), true));
  EXPECT_TRUE(is_forward(at(0x1000), at(0x10f0), at(0x1000 + kForwardWindow), false));
  EXPECT_FALSE(is_forward(at(0x1000), at(0x1010), at(0x1010), false));
  EXPECT_FALSE(is_forward(at(0x1000), at(0x1010), at(0x1008), false));
}

// Between two instructions the register has what was counted, and a fault finds how much of it had not happened yet.
TEST(Exits, CountsAreAheadOfTheInstructionsUpToTheNextExit) {
  const Translated t = translate(kThereAndBack, border::Mode::kCount, true);
  std::vector<int> ahead;
  for (const auto& p : t.output.recovery)
    if (p.offset > t.output.body) ahead.push_back(p.counted - p.instruction);
  EXPECT_EQ(ahead, (std::vector<int>{2, 1, 2, 1}));          // before and behind each `test`: it and its jump; the jump
}

// Where look-ups of indirect targets can be called off (Translator::needs_check).
TEST(Exits, WaysWithoutALookUpMeetACheck) {
  const auto checks = [](const std::vector<uint8_t>& code, uint64_t pc = kPc + 4, bool exact_stops = false, border::Mode mode = border::Mode::kCount) {
    const TranslationOptions options{.mode = mode, .leave = 0x7ffff8000040, .exact_stops = exact_stops, .pext_is_fast = true};
    Translator translator(options);
    Translated t;
    const DecodedSuperblock superblock = decoded(code, false, pc);
    t.hot.resize(Translator::size_bound(superblock)), t.cold.resize(t.hot.size());
    Assembler out(t.hot.data(), 0x7ffff8010000), cold(t.cold.data(), 0x7ffffa000000);
    translator.translate(superblock, Purpose::kOrdinary, true, 1000, 16, out, cold, t.output);
    if (options.calls_off_look_ups()) {
      EXPECT_EQ(t.output.body, t.output.check);   // nobody passes those by that are left
    }
    return std::any_of(t.output.exits.begin(), t.output.exits.end(), [](const auto& e) { return e.kind == ExitKind::kCheck; });
  };
  const std::vector<uint8_t> ret{0xc3};
  EXPECT_FALSE(checks(ret));
  EXPECT_TRUE(checks(ret, 0x40000000));                                        // place 0: where look-ups come that are called off
  EXPECT_TRUE(checks(ret, 0x40000003));
  EXPECT_TRUE(checks(ret, 0x40008000));                                        // of a table of few places
  EXPECT_FALSE(checks(ret, 0x40004000));
  EXPECT_TRUE(checks(ret, kPc + 4, true));                                     // exact stops: within so many instructions
  EXPECT_TRUE(checks(ret, kPc + 4, false, border::Mode::kTrace));              // the ring may be full
  EXPECT_TRUE(checks({0xeb, 0xfe}));                                           // jmp to itself, backwards
  EXPECT_FALSE(checks({0xeb, 0x10}));                                          // jmp forwards
  EXPECT_TRUE(checks({0x75, 0xf0}));                                           // jnz backwards
  EXPECT_FALSE(checks({0x75, 0x10}));
  EXPECT_TRUE(checks({0xe2, 0xf0}));                                           // loop
  EXPECT_FALSE(checks({0xe8, 0xf0, 0xff, 0xff, 0xff}));                        // call backwards: needs ever more stack
  EXPECT_FALSE(checks({0x50, 0x48, 0x83, 0xec, 0x10, 0xe8, 0xf0, 0xff, 0xff, 0xff}));   // push, sub: all the more
  EXPECT_TRUE(checks({0x58, 0xe8, 0xf0, 0xff, 0xff, 0xff}));                   // pop; call
  EXPECT_TRUE(checks({0x48, 0x83, 0xc4, 0x08, 0xeb, 0x10}));                   // add $8, %rsp; jmp forwards
  EXPECT_TRUE(checks({0x48, 0x89, 0xec, 0x75, 0x10, 0xc3}));                   // mov %rbp, %rsp; jnz forwards; ret
  EXPECT_FALSE(checks({0x75, 0x10, 0x48, 0x89, 0xec, 0xc3}));                  // jnz forwards; mov %rbp, %rsp; ret
  EXPECT_TRUE(checks({0xc9}));                                                 // leave, and what follows
  EXPECT_FALSE(checks({0xc9, 0xc3}));                                          // leave; ret
  EXPECT_FALSE(checks({0x5c, 0x0f, 0x05}));                                    // pop %rsp; syscall
  EXPECT_TRUE(checks({0x5c, 0xcc}));                                           // pop %rsp; int3
}

// Whether a function may call another one before it comes to a look-up.
TEST(Exits, CallsAhead) {
  alignas(4096) static uint8_t page[4096];
  const AppAddress pc{reinterpret_cast<uint64_t>(page)};
  note_mapped(pc, sizeof page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS);
  const auto calls = [&](const std::vector<uint8_t>& code) {
    std::fill(std::begin(page), std::end(page), 0xc3);
    std::copy(code.begin(), code.end(), page);
    DecodedSuperblock scratch;
    return may_call_again(pc, scratch);
  };
  EXPECT_FALSE(calls({0xc3}));                                     // ret
  EXPECT_FALSE(calls({0xff, 0x25, 0, 0, 0, 0}));                   // jmp *0(%rip), as in a procedure linkage table
  EXPECT_FALSE(calls({0xff, 0xd0}));                               // call *%rax
  EXPECT_TRUE(calls({0x90, 0xe8, 0, 0, 0, 0}));                    // nop; call
  EXPECT_TRUE(calls({0x74, 0x01, 0xc3, 0xe8, 0, 0, 0, 0}));        // jz over a ret; ret; call
  EXPECT_FALSE(calls({0x74, 0x01, 0xc3, 0xc3}));
  EXPECT_TRUE(calls({0xeb, 0x02, 0xc3, 0xc3, 0xe8, 0, 0, 0, 0}));  // jmp over two rets; call
  EXPECT_FALSE(calls({0xeb, 0xfe, 0xe8, 0, 0, 0, 0}));             // jmp to itself meets a check
  EXPECT_TRUE(calls({0x74, 8, 0x74, 8, 0x74, 8, 0x74, 8, 0x74, 8, 0x74, 8, 0x74, 8, 0x74, 8, 0xc3}));   // more ways than are looked at
}

// A return hands the buffer pointer on in one register, whichever the superblock had it in.
TEST(Exits, IndirectTransfersHandThePointerOn) {
  const auto ends_with_table_jump = [](const Translated& t, const std::vector<uint8_t>& before) {
    const std::vector<uint8_t> hot(t.hot.begin(), t.hot.begin() + t.output.size);
    return std::search(hot.begin(), hot.end(), before.begin(), before.end()) != hot.end();
  };
  const std::vector<uint8_t> move{0x4d, 0x89, 0xca};                         // mov r10, r9
  EXPECT_EQ(translate({0xc3}, border::Mode::kCount, true).output.buffer_register, kHandedOn);
  EXPECT_FALSE(ends_with_table_jump(translate({0xc3}, border::Mode::kCount, true), move));
  const std::vector<uint8_t> uses_r10{0x49, 0xff, 0xc2, 0xc3};               // inc %r10 ; ret
  for (const auto mode : {border::Mode::kCount, border::Mode::kTrace}) {
    const Translated t = translate(uses_r10, mode, true);
    EXPECT_EQ(t.output.buffer_register, kR9);
    EXPECT_TRUE(ends_with_table_jump(t, move));
  }
}

// Of so many instructions, the last of which jumps back to the first if it is not zero, with side exits.
std::vector<uint8_t> loop_of(uint32_t instructions, uint32_t side_exits = 0) {
  std::vector<uint8_t> code;
  for (uint32_t k = 0; k + 1 < instructions; ++k) {
    if (k < side_exits)
      code.insert(code.end(), {0x72, 0x7f});   // jb +127
    else
      code.insert(code.end(), {0xff, 0xc9});   // dec %ecx
  }
  code.push_back(0x75);
  code.push_back(static_cast<uint8_t>(-static_cast<int>(code.size() + 1)));
  return code;
}

uint32_t passes_of(const std::vector<uint8_t>& code, uint32_t max_instructions = kMaxSuperblockInstructions, bool changeable = false,
                   uint32_t most_passes = kMaxConditionalExits) {
  DecodedSuperblock loop = decoded(code, changeable);
  const uint32_t pass = loop.count;
  unroll_loop(max_instructions, most_passes, loop);
  EXPECT_EQ(loop.count % pass, 0u);
  return loop.count / pass;
}

TEST(Unrolling, AsManyWholePassesAsFit) {
  EXPECT_EQ(passes_of(loop_of(1)), kMaxConditionalExits);
  EXPECT_EQ(passes_of(loop_of(6)), kMaxConditionalExits);
  EXPECT_EQ(passes_of(loop_of(7)), kMaxUnrolledInstructions / 7);
  EXPECT_EQ(passes_of(loop_of(24)), 2u);
  EXPECT_EQ(passes_of(loop_of(25)), 1u);
  EXPECT_EQ(passes_of(loop_of(64)), 1u);
  EXPECT_EQ(passes_of(loop_of(8, 1)), 4u);
  EXPECT_EQ(passes_of(loop_of(8, 2)), 2u);
  EXPECT_EQ(passes_of(loop_of(8, 7)), 1u);
  EXPECT_EQ(passes_of(loop_of(4), 11), 2u);   // --max-superblock
  EXPECT_EQ(passes_of(loop_of(4), 1), 1u);
  EXPECT_EQ(passes_of(loop_of(4), kMaxSuperblockInstructions, false, kMaxCountedPasses), kMaxCountedPasses);
}

TEST(Unrolling, OnlyLoopsOfOneSuperblock) {
  EXPECT_EQ(passes_of({0xff, 0xc9, 0x75, 0xfd}), 1u);           // jumps elsewhere
  EXPECT_EQ(passes_of({0xff, 0xc9, 0x75, 0x04}), 1u);           // forwards
  EXPECT_EQ(passes_of({0xff, 0xc9, 0xeb, 0xfc}), 1u);           // jmp
  EXPECT_EQ(passes_of({0xff, 0xc9, 0xe2, 0xfc}), 1u);           // loop
  EXPECT_EQ(passes_of({0x9d, 0xff, 0xc9, 0x75, 0xfb}), 1u);     // popf is asked at the entry whether it sets the trap flag
  EXPECT_EQ(passes_of(loop_of(4), 64, true), 1u);               // compared before each pass
}

// The second instruction jumps back. Behind all passes but the last it leaves for what follows the loop, as the last one's fall-through does.
TEST(Unrolling, TheJumpsBackAreTurnedRound) {
  DecodedSuperblock loop = decoded({0x85, 0xc0, 0x74, 0xfc});   // test %eax, %eax ; jz back
  unroll_loop(6, kMaxConditionalExits, loop);
  ASSERT_EQ(loop.count, 6u);
  for (uint32_t k = 0; k < 6; k += 2) EXPECT_EQ(loop.instructions[k].pc, AppAddress{kPc});
  for (uint32_t k = 1; k < 6; k += 2) {
    EXPECT_EQ(loop.instructions[k].pc, AppAddress{kPc + 2});
    EXPECT_EQ(loop.instructions[k].condition, k == 5 ? 4 : 5);
    EXPECT_EQ(loop.instructions[k].target, AppAddress{k == 5 ? kPc : kPc + 4});
  }
  const Translated t = translate(loop, border::Mode::kNull, true);
  ASSERT_EQ(t.output.exits.size(), 5u);                         // the check; out; out; back; out
  for (const uint32_t k : {1u, 2u, 4u}) {
    EXPECT_EQ(t.output.exits[k].target, AppAddress{kPc + 4});
    EXPECT_TRUE(t.output.exits[k].forward);
  }
  EXPECT_EQ(t.output.exits[3].target, AppAddress{kPc});
  EXPECT_FALSE(t.output.exits[3].forward);                      // each turn of the loop meets the check
}

// Each pass has counters of its own, and each exit a path, which ends with it.
TEST(Unrolling, TheBlocksOfEachPassAreCounted) {
  DecodedSuperblock loop = decoded(loop_of(4, 1));   // jb out ; dec %ecx ; dec %ecx ; jnz back
  unroll_loop(kMaxSuperblockInstructions, kMaxConditionalExits, loop);
  ASSERT_EQ(loop.count, 16u);
  const Translated t = translate(loop, border::Mode::kCount, true, true);
  std::vector<int> ends;
  for (const auto& path : t.output.paths) ends.push_back(path.instructions);
  EXPECT_EQ(ends, (std::vector<int>{1, 4, 5, 8, 9, 12, 13, 16, 16}));
  uint16_t blocks = 0;
  for (const RecoveryPoint& p : t.output.recovery) blocks = std::max(blocks, p.blocks);
  EXPECT_EQ(blocks, kMaxConditionalExits);
}

// Recovery tells the passes apart: the instruction is the one of the copy, its address that of the loop.
TEST(Unrolling, AFaultFindsThePass) {
  DecodedSuperblock loop = decoded({0x48, 0x03, 0x06, 0x48, 0x83, 0xc6, 0x08, 0x75, 0xf7});   // add (%rsi), %rax ; add $8, %rsi ; jnz back
  unroll_loop(9, kMaxConditionalExits, loop);
  ASSERT_EQ(loop.count, 9u);
  const Translated t = translate(loop, border::Mode::kNull, true);
  std::vector<int> before;
  for (uint32_t at = t.output.body; at + 3 < t.output.size; ++at) {
    if (t.hot[at] != 0x48 || t.hot[at + 1] != 0x03 || t.hot[at + 2] != 0x06) continue;
    int instruction = -1;
    for (const RecoveryPoint& p : t.output.recovery)
      if (p.offset <= at) instruction = p.instruction;
    before.push_back(instruction);
  }
  EXPECT_EQ(before, (std::vector<int>{0, 3, 6}));
}

}  // namespace
}  // namespace simrun::engine
