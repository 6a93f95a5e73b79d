// The sharing table, from lines made by hand.
#include "analysis/sharing/sharing_report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "analysis/sharing/propose_fix.h"
#include "cli/sharing_json.h"

namespace simrun::cli {
namespace {

using analysis::AddressSpace;
using analysis::LineUse;
using analysis::SharedLine;

LineUse use(const AddressSpace& space, uint32_t thread, uint64_t line, uint32_t offset, uint64_t false_misses,
            uint64_t true_misses) {
  LineUse u;
  u.space = &space;
  u.thread = thread;
  u.pc = 0x401000 + 16 * thread;
  u.offset = offset;
  u.bytes = 8;
  u.data = space.place(line + offset);
  u.code = space.code_place(u.pc);
  u.reads = u.writes = 1000;
  u.false_misses = false_misses;
  u.true_misses = true_misses;
  u.upgrades = false_misses;
  return u;
}

SharedLine line_of(uint64_t address, std::vector<LineUse> uses) {
  SharedLine line;
  line.address = address;
  for (const LineUse& u : uses) {
    line.false_misses += u.false_misses;
    line.true_misses += u.true_misses;
    line.upgrades += u.upgrades;
  }
  line.uses = std::move(uses);
  return line;
}

struct SharingReportTest : testing::Test {
  SharingReportTest() {
    const uint64_t caller[] = {0x401234};
    space.allocate(0x10000, 64, 0, space.call_site(caller));
    space.allocate(0x20000, 16, 0, 0);
    space.allocate(0x20020, 16, 0, 0);
  }
  analysis::SharingReport report(std::vector<SharedLine> lines, size_t top = 10) {
    return analysis::make_report(std::move(lines), 64, top);
  }
  AddressSpace space;
};

TEST_F(SharingReportTest, FalseSharingInOneBlock) {
  const auto r = report({line_of(0x10000, {use(space, 1, 0x10000, 0, 500, 0), use(space, 2, 0x10000, 8, 480, 5)})});
  ASSERT_EQ(r.top.size(), 1u);
  EXPECT_EQ(r.top[0].verdict, analysis::Verdict::kFalseSharing);
  EXPECT_EQ(r.top[0].threads, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(r.top[0].uses[0].data.object, "heap block of 64 bytes allocated at 0x401234");
  EXPECT_NE(r.top[0].fix.find("0 to 7 (thread 1), 8 to 15 (thread 2)"), std::string::npos) << r.top[0].fix;
  const std::string text = analysis::text_of(r);
  EXPECT_NE(text.find("985 coherence misses: FALSE SHARING"), std::string::npos) << text;
  EXPECT_NE(text.find(r.top[0].fix), std::string::npos);
}

// A queue's head and tail: each written by one thread, read by the other, whose misses are the other part's.
TEST_F(SharingReportTest, WhatIsExchangedNeedNotMiss) {
  LineUse head = use(space, 1, 0x20000, 0, 0, 500), tail = use(space, 2, 0x20000, 32, 0, 500);
  LineUse sees_tail = use(space, 1, 0x20000, 32, 0, 0), sees_head = use(space, 2, 0x20000, 0, 0, 0);
  sees_tail.writes = sees_head.writes = 0;
  const auto r = report({line_of(0x20000, {head, tail, sees_tail, sees_head})});
  EXPECT_EQ(r.top[0].fix.find("its data"), std::string::npos) << r.top[0].fix;
  EXPECT_NE(r.top[0].fix.find("threads exchange 'heap block"), std::string::npos) << r.top[0].fix;
}

TEST_F(SharingReportTest, LinesWithFewMissesAreNotShownUnasked) {
  const auto few = [&](uint64_t at) { return line_of(at, {use(space, 1, at, 0, 3, 0), use(space, 2, at, 8, 0, 2)}); };
  const auto none = report({few(0x10000)});
  EXPECT_NE(analysis::text_of(none).find("no line is worth a change: 5 misses at most"), std::string::npos) << analysis::text_of(none);
  EXPECT_NE(analysis::text_of(none, 0).find("5 coherence misses"), std::string::npos);
  const auto some = report({few(0x10000), line_of(0x20000, {use(space, 1, 0x20000, 0, 500, 0), use(space, 2, 0x20000, 8, 480, 5)})});
  EXPECT_NE(analysis::text_of(some).find("1 more lines with 5 misses"), std::string::npos) << analysis::text_of(some);
}

TEST_F(SharingReportTest, FalseSharingOfTwoBlocks) {
  const auto r = report({line_of(0x20000, {use(space, 1, 0x20000, 0, 500, 0), use(space, 2, 0x20000, 32, 500, 0)})});
  EXPECT_NE(r.top[0].fix.find("aligned_alloc(64"), std::string::npos) << r.top[0].fix;
}

TEST_F(SharingReportTest, TrueSharingIsNotToBePadded) {
  const auto r = report({line_of(0x10000, {use(space, 1, 0x10000, 0, 0, 500), use(space, 2, 0x10000, 0, 3, 500)})});
  EXPECT_EQ(r.top[0].verdict, analysis::Verdict::kTrueSharing);
  EXPECT_NE(r.top[0].fix.find("padding does not help"), std::string::npos);
  EXPECT_EQ(r.top[0].fix.find("lines of their own"), std::string::npos);
  EXPECT_EQ(analysis::text_of(r).find("FALSE"), std::string::npos);
}

TEST_F(SharingReportTest, MixedNamesBoth) {
  const auto r = report({line_of(0x10000, {use(space, 1, 0x10000, 0, 0, 500), use(space, 2, 0x10000, 0, 0, 500),
                                           use(space, 3, 0x10000, 32, 500, 0)})});
  EXPECT_EQ(r.top[0].verdict, analysis::Verdict::kMixed);
  EXPECT_NE(r.top[0].fix.find("padding does not help"), std::string::npos);
  EXPECT_NE(r.top[0].fix.find("lines of their own"), std::string::npos);
}

analysis::SharingUse part_use(uint32_t thread, uint32_t offset, const std::string& member, int64_t object_offset, uint64_t element_size) {
  analysis::SharingUse u;
  u.thread = thread, u.offset = offset, u.bytes = 8;
  u.data.object = "g", u.data.member = member, u.data.kind = analysis::PlaceKind::kModule;
  u.data.offset = u.data.part = object_offset;
  u.data.part_size = 8, u.data.element_size = element_size;
  u.reads = u.writes = 1000, u.false_misses = u.upgrades = 500;
  return u;
}

TEST_F(SharingReportTest, ElementsOfWholeLinesThatBeginAmidLines) {
  analysis::SharingLine line;
  line.verdict = analysis::Verdict::kFalseSharing, line.false_misses = 1000;
  line.uses = {part_use(1, 8, ".arr[0].x[5]", 72, 64), part_use(2, 40, ".arr[1].x[1]", 104, 64)};
  EXPECT_EQ(analysis::propose_fix(line, 64),
            "align 'g.arr' to 64 bytes: alignas(64) on it; its elements are whole lines long (64 bytes each), but begin amid lines");
  for (auto& u : line.uses) u.data.element_size = 48;
  EXPECT_NE(analysis::propose_fix(line, 64).find("pad the elements of 'g.arr' (48 bytes each) to 64"), std::string::npos);
}

// As a barrier's: whoever comes writes all of it.
TEST_F(SharingReportTest, BytesOfAllThreadsAreNobodysOwn) {
  std::vector<LineUse> uses;
  for (uint32_t thread : {1, 2})
    for (uint32_t offset : {0, 16}) uses.push_back(use(space, thread, 0x10000, offset, 100, 100));
  const std::string mixed = report({line_of(0x10000, uses)}).top[0].fix;
  EXPECT_EQ(mixed.find("lines of their own"), std::string::npos) << mixed;
  EXPECT_TRUE(mixed.starts_with("threads exchange ")) << mixed;
  for (LineUse& u : uses) u.true_misses = 0;
  const std::string apart = report({line_of(0x10000, uses)}).top[0].fix;
  EXPECT_TRUE(apart.starts_with("put what is used at different times on different lines: ")) << apart;
}

TEST_F(SharingReportTest, OnlyWhatAThreadHasForItselfIsKeptApart) {
  const auto lock = [&](uint32_t thread) { return use(space, thread, 0x10000, 0, 100, 200); };
  const auto r = report({line_of(0x10000, {lock(1), lock(2), use(space, 1, 0x10000, 8, 100, 0), use(space, 2, 0x10000, 16, 100, 0)})});
  EXPECT_NE(r.top[0].fix.find("keep the bytes 8 to 15 (thread 1), 16 to 23 (thread 2) of"), std::string::npos) << r.top[0].fix;
}

TEST_F(SharingReportTest, BytesOfThreadsThatAlternate) {
  std::vector<LineUse> uses;
  for (uint32_t k = 0; k < 4; ++k) uses.push_back(use(space, 1 + k % 2, 0x10000, 8 * k, 100, 0));
  const std::string fix = report({line_of(0x10000, uses)}).top[0].fix;
  EXPECT_NE(fix.find("the bytes of threads alternate"), std::string::npos) << fix;
  EXPECT_EQ(fix.find("(thread"), std::string::npos) << fix;
}

TEST_F(SharingReportTest, WhatAThreadLookedAtOnceIsNotKeptApart) {
  LineUse once = use(space, 1, 0x10000, 8, 0, 0);
  once.reads = once.writes = 1;
  const LineUse first = use(space, 1, 0x10000, 0, 500, 0), second = use(space, 2, 0x10000, 8, 480, 5);
  const auto r = report({line_of(0x10000, {first, second, once})});
  EXPECT_NE(r.top[0].fix.find("0 to 7 (thread 1), 8 to 15 (thread 2)"), std::string::npos) << r.top[0].fix;
}

TEST_F(SharingReportTest, StacksHaveNoMembers) {
  space.start_thread(0, 0, 0x7fff00000100);
  const auto r = report(
      {line_of(0x7fff00000000, {use(space, 1, 0x7fff00000000, 0, 500, 0), use(space, 2, 0x7fff00000000, 8, 480, 5)})});
  EXPECT_EQ(r.top[0].uses[1].data.offset, -248);
  EXPECT_EQ(r.top[0].fix,
            "put the variables at 'stack of thread 0 -256', 'stack of thread 0 -248' on different lines: alignas(64)");
  EXPECT_NE(analysis::text_of(r).find("stack of thread 0 -248;"), std::string::npos);
}

TEST_F(SharingReportTest, AboveTheThreadPointer) {
  space.start_thread(0, 0x7f0000000000, 0x7fff00000100);
  const auto r = report(
      {line_of(0x7f0000000000, {use(space, 1, 0x7f0000000000, 0, 500, 0), use(space, 2, 0x7f0000000000, 8, 480, 5)})});
  EXPECT_EQ(r.top[0].uses[1].data.object, "thread-local memory of thread 0");
  EXPECT_EQ(r.top[0].uses[1].data.offset, 8);
}

TEST_F(SharingReportTest, NoBlockOfTheHeap) {
  space.set_break(0x600000);
  space.set_break(0x700000);
  const auto r =
      report({line_of(0x600040, {use(space, 1, 0x600040, 0, 500, 0), use(space, 2, 0x600040, 8, 480, 5)})});
  EXPECT_EQ(r.top[0].uses[1].data.offset, 0x48);
  EXPECT_EQ(r.top[0].fix.find("members"), std::string::npos) << r.top[0].fix;
  EXPECT_NE(r.top[0].fix.find("in no block of the heap"), std::string::npos) << r.top[0].fix;
}

TEST_F(SharingReportTest, AMemberStandsBeforeTheThread) {
  analysis::DataName data;
  data.kind = analysis::PlaceKind::kThread;
  data.object = "own of thread 1";
  data.member = "[3]";
  data.offset = 25;
  data.part = 24;
  EXPECT_EQ(name_of(data), "own[3]+1 of thread 1");
}

TEST_F(SharingReportTest, LineOfTheProgramRatherThanOfAHeader) {
  auto r = report({line_of(0x10000, {use(space, 1, 0x10000, 0, 500, 0), use(space, 2, 0x10000, 8, 480, 5)})});
  r.top[0].uses[0].frames = {{"std::add(int)", "/usr/lib/gcc/../../include/c++/12/bits/atomic_base.h", 618},
                             {"work()", "/project/work.cpp", 30},
                             {"main", "/project/main.cpp", 7}};
  r.top[0].uses[1].frames = {{"std::add(int)", "/usr/include/c++/12/bits/atomic_base.h", 618}};
  const std::string text = analysis::text_of(r);
  const char* const own = "; work.cpp:30 work() (inlined in main), by atomic_base.h:618 std::add(int)\n";
  EXPECT_NE(text.find(own), std::string::npos) << text;
  EXPECT_NE(text.find("; atomic_base.h:618 std::add(int)\n"), std::string::npos) << text;
}

TEST_F(SharingReportTest, OrderAndLimit) {
  std::vector<SharedLine> lines;
  for (uint64_t i = 1; i <= 5; ++i)
    lines.push_back(line_of(0x30000 + 64 * i, {use(space, 1, 0x30000, 0, 100 * i, 0), use(space, 2, 0, 8, i, 0)}));
  lines.push_back(line_of(0x40000, {use(space, 1, 0x40000, 0, 0, 0)}));  // without misses
  const auto r = report(lines, 2);
  EXPECT_EQ(r.lines, 5u);
  EXPECT_EQ(r.false_misses, 1515u);
  ASSERT_EQ(r.top.size(), 2u);
  EXPECT_EQ(r.top[0].false_misses, 505u);
  EXPECT_EQ(r.top[1].false_misses, 404u);
  EXPECT_NE(analysis::text_of(r).find("3 more lines with 606 misses"), std::string::npos);
}

TEST_F(SharingReportTest, Nothing) {
  const auto r = report({});
  EXPECT_TRUE(r.top.empty());
  EXPECT_NE(analysis::text_of(r).find("coherence misses of level 1 on data: 0"), std::string::npos);
}

void collect_all_keys(const nlohmann::ordered_json& json, std::set<std::string>& keys) {
  if (json.is_object())
    for (const auto& [key, value] : json.items()) {
      keys.insert(key);
      collect_all_keys(value, keys);
    }
  if (json.is_array())
    for (const auto& value : json) collect_all_keys(value, keys);
}

// Every key stands in docs/sharing.md, in backquotes at the start of a row of its last table, and every such row is a
// key.
TEST_F(SharingReportTest, DocumentationHasTheSameKeys) {
  auto r = report({line_of(0x10000, {use(space, 1, 0x10000, 0, 500, 0), use(space, 2, 0x10000, 8, 480, 5)})});
  r.top[0].uses[0].frames.push_back({"f", "a.c", 1});
  RunResult result;
  result.command = {"./program"};
  std::set<std::string> written, documented;
  collect_all_keys(sharing_json(result, r), written);
  std::ifstream in(SIMRUN_SOURCE_DIRECTORY "/docs/sharing.md");
  bool below = false;
  for (std::string line; std::getline(in, line);) {
    below = below || line.starts_with("## JSON");
    if (!below || !line.starts_with("| `")) continue;
    const std::string cell = line.substr(2, line.find('|', 2) - 2);
    for (size_t at = cell.find('`'); at != std::string::npos;) {
      const size_t end = cell.find('`', at + 1);
      documented.insert(cell.substr(at + 1, end - at - 1));
      at = cell.find('`', end + 1);
    }
  }
  EXPECT_EQ(documented, written);
}

}  // namespace
}  // namespace simrun::cli
