// What is made of drmemtrace's records.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/user_error.h"
#include "tests/traces/drmemtrace_builder.h"
#include "tests/traces/made_trace.h"
#include "traces/check/check_trace.h"
#include "traces/export/words.h"
#include "traces/import/formats.h"
#include "traces/instruction_walk.h"

namespace simrun::traces {
namespace {

using Builder = DrmemtraceBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// Thread, pc, bytes, flags, iterations, references; or thread and event.
class Lines : public Visitor {
 public:
  bool on_instruction(const InstructionRecord& i) override {
    std::string line = fmt::format("{} {:x} {:02x} f{}", i.thread, i.pc, fmt::join(i.code, ""), i.flags);
    if (i.code.empty()) line = fmt::format("{} {:x} {}- f{}", i.thread, i.pc, i.length, i.flags);
    if (i.iterations != 0) line += fmt::format(" x{}", i.iterations);
    for (const MemoryReference& r : i.references) line += fmt::format(" {} {:x} {}", word_of(r.kind), r.address, r.bytes);
    lines.push_back(line);
    return true;
  }
  bool on_event(const EventRecord& e) override {
    lines.push_back(fmt::format("{} ! {}", e.thread, event_word(e.event)));
    if (e.event != static_cast<uint32_t>(Event::kCut)) lines.back() += fmt::format(" {}", fmt::join(e.payload, " "));
    return true;
  }
  std::vector<std::string> lines;
};

class Drmemtrace : public ::testing::Test {
 protected:
  static Builder start() { return Builder().header().time(1000); }

  // A file, or the folder of the files that were saved before.
  std::vector<std::string> import(const std::string& path) {
    notes_.clear();
    Writer writer(scratch_.file("t"), {{"command", {"test"}}}, {.workers = 1});
    notes_ = import_drmemtrace(path, writer);
    writer.finish({{"threads", nlohmann::ordered_json::array()}});
    const Reader reader(scratch_.file("t"));
    Lines lines;
    walk(reader, {}, lines);
    report_ = check_trace(reader, [](uint64_t) {});
    EXPECT_THAT(report_.violations, ElementsAre());
    return lines.lines;
  }
  std::vector<std::string> import(Builder builder) {
    builder.end().save(scratch_.file("one.trace"));
    return import(scratch_.file("one.trace"));
  }
  std::string error_of(const std::string& bytes) {
    std::ofstream(scratch_.file("bad.trace"), std::ios::binary) << bytes;
    try {
      import(scratch_.file("bad.trace"));
    } catch (const TraceError& error) {
      return error.what();
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  std::string folder() {
    fs::create_directories(scratch_.file("drmemtrace.x.1.dir/trace"));
    return scratch_.file("drmemtrace.x.1.dir");
  }

  ScratchDirectory scratch_;
  ImportNotes notes_;
  CheckReport report_;
};

TEST_F(Drmemtrace, InstructionsWithBytesAndReferences) {
  EXPECT_THAT(import(start()
                         .code(0x401000, code::kLoad).read(0x7000, 8)
                         .code(0x401003, code::kAdd).read(0x7010, 8).write(0x7010, 8)
                         .code(0x401006, code::kJumpIfZero, Builder::kUntaken)
                         .code(0x401008, code::kNop)
                         .code(0x401009, code::kShortJump, Builder::kJump)
                         .marker(Builder::kTarget, 0x401000)
                         .code(0x40101b, code::kReturn, Builder::kReturn).read(0x7ff0, 8)
                         .time(1001)
                         .record(Builder::kInstruction, 3, 0x401000).read(0x7008, 8)),
              ElementsAre("0 401000 488b07 f0 load 7000 8", "0 401003 480107 f0 modify 7010 8", "0 401006 7410 f3",
                          "0 401008 90 f128", "0 401009 eb10 f1", "0 40101b c3 f25 load 7ff0 8",
                          "0 401000 488b07 f0 load 7008 8"));
  EXPECT_THAT(notes_, ElementsAre());
  EXPECT_EQ(report_.transitions, 6u);
}

TEST_F(Drmemtrace, TypesOfBranchesWithoutBytes) {
  EXPECT_THAT(import(Builder().header(100, 2, 0).time(1)
                         .record(Builder::kJump, 2, 0x10).record(Builder::kIndirectJump, 2, 0x20)
                         .record(Builder::kConditional, 2, 0x30).record(Builder::kCall, 5, 0x40)
                         .record(Builder::kIndirectCall, 2, 0x50).record(Builder::kReturn, 1, 0x60)
                         .record(31, 2, 0x70)),
              ElementsAre("0 10 2- f1", "0 20 2- f17", "0 30 2- f3", "0 40 5- f5", "0 50 2- f21", "0 60 1- f25", "0 70 2- f65"));
}

TEST_F(Drmemtrace, OtherReferences) {
  EXPECT_THAT(import(start()
                         .record(Builder::kInstruction, 4, 0x10).record(3, 1, 0x7000)    // prefetcht0
                         .record(Builder::kInstruction, 4, 0x14).record(46, 0, 0x7040)   // prefetchw, no size
                         .record(Builder::kInstruction, 4, 0x18).record(Builder::kDataFlush, 64, 0x7080)
                         .record(Builder::kInstruction, 4, 0x1c)
                         .record(Builder::kDataFlush, 0, 0x8000).record(Builder::kDataFlushEnd, 0, 0x18000)
                         .record(Builder::kInstruction, 4, 0x20).record(27, 64, 0x9000)),
              ElementsAre("0 10 4- f0 prefetch 7000 1", "0 14 4- f0 prefetch 7040 1", "0 18 4- f0 flush 7080 64",
                          "0 1c 4- f0 flush 8000 65536", "0 20 4- f0"));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("1 prefetches of a simulated machine")));
}

TEST_F(Drmemtrace, Bundles) {
  EXPECT_THAT(import(start().record(Builder::kInstruction, 4, 0x10).record(Builder::kBundle, 3, 0x070302).read(0x7000, 4)),
              ElementsAre("0 10 4- f0", "0 14 2- f0", "0 16 3- f0", "0 19 7- f0 load 7000 4"));
}

// The first iteration is fetched, the others are not; one instruction is retired.
TEST_F(Drmemtrace, StringInstructionsAreOneInstruction) {
  EXPECT_THAT(import(start()
                         .code(0x401000, code::kRepMovs).read(0x7000, 8).write(0x9000, 8)
                         .record(Builder::kNoFetch, 3, 0x401000).read(0x7008, 8).write(0x9008, 8)
                         .time(1001)
                         .record(Builder::kNoFetch, 3, 0x401000).read(0x7010, 8).write(0x9010, 8)
                         .code(0x401003, code::kRepMovs).read(0x7018, 8).write(0x9018, 8)
                         .record(Builder::kNoFetch, 3, 0x401003).read(0x7010, 8).write(0x9010, 8)
                         .code(0x401006, code::kRepMovs)
                         .code(0x401009, code::kRepMovs).read(0x7000, 8).write(0x9000, 8)),
              ElementsAre("0 401000 f348a5 f32 x3 load 7000 8 store 9000 8 load 7008 8 store 9008 8 load 7010 8 store 9010 8",
                          "0 401003 f348a5 f32 x2 load 7018 8 store 9018 8 load 7010 8 store 9010 8",
                          "0 401006 f348a5 f32", "0 401009 f348a5 f32 x1 load 7000 8 store 9000 8"));
  EXPECT_THAT(notes_, ElementsAre());
}

TEST_F(Drmemtrace, IterationsThatDoNotFollowAreLeftOut) {
  EXPECT_THAT(import(start()
                         .record(Builder::kInstruction, 2, 0x10).write(0x9000, 1)
                         .record(Builder::kNoFetch, 2, 0x10).write(0x9001, 1)
                         .record(Builder::kNoFetch, 2, 0x10).write(0xa000, 1)
                         .record(Builder::kInstruction, 2, 0x12)),
              ElementsAre("0 10 2- f32 x2 store 9000 1 store 9001 1", "0 12 2- f0"));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("1 references of string instructions")));
}

// A handler runs amid a string instruction; what was done of it counts, the instruction when it is at its end.
TEST_F(Drmemtrace, InterruptedStringInstruction) {
  EXPECT_THAT(import(start()
                         .code(0x401000, code::kRepMovs).read(0x7010, 8).write(0x9010, 8)
                         .record(Builder::kNoFetch, 3, 0x401000).read(0x7008, 8).write(0x9008, 8)
                         .marker(Builder::kKernelEvent, 0x401000)
                         .code(0x500000, code::kSyscall)
                         .marker(Builder::kSyscall, 15)
                         .marker(Builder::kKernelTransfer, 0x500002)
                         .record(Builder::kInstruction, 3, 0x401000).read(0x7000, 8).write(0x9000, 8)
                         .code(0x401003, code::kNop)),
              ElementsAre("0 ! cut", "0 ! signal 0 4198400", "0 500000 0f05 f65",
                          "0 401000 f348a5 f32 x1 load 7000 8 store 9000 8", "0 401003 90 f128"));
  EXPECT_EQ(report_.references, 6u);  // those of the cut too
  EXPECT_THAT(notes_, ElementsAre());
}

TEST_F(Drmemtrace, InterruptedInstructionIsNotRetired) {
  EXPECT_THAT(import(start()
                         .code(0x401000, code::kNop)
                         .code(0x401001, code::kLoad).read(0x7000, 8)
                         .marker(Builder::kKernelEvent, 0x401001)
                         .code(0x500000, code::kReturn, Builder::kReturn)
                         .record(Builder::kInstruction, 3, 0x401001).read(0x7000, 8)),
              ElementsAre("0 401000 90 f128", "0 ! signal 0 4198401", "0 500000 c3 f25", "0 401001 488b07 f0 load 7000 8"));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("1 references are left out: their instruction was interrupted")));
  // Version 2 has an offset in a module there.
  EXPECT_THAT(import(Builder().header(100, 2).time(1)
                         .code(0x1, code::kLoad).marker(Builder::kKernelEvent, 0x1).code(0x500000, code::kNop)),
              ElementsAre("0 1 488b07 f0", "0 ! signal 0", "0 500000 90 f128"));
}

// A jump to itself and a system call that comes again were done; any other branch was not.
TEST_F(Drmemtrace, InterruptedBranches) {
  EXPECT_THAT(import(start()
                         .code(0x401000, {0xeb, 0xfe}, Builder::kJump)
                         .marker(Builder::kKernelEvent, 0x401000)
                         .code(0x500000, code::kSyscall).marker(Builder::kSyscall, 0)
                         .marker(Builder::kKernelEvent, 0x500000)
                         .code(0x600000, code::kReturn, Builder::kReturn)
                         .marker(Builder::kKernelEvent, 0x600000)
                         .code(0x700000, code::kNop)),
              ElementsAre("0 401000 ebfe f1", "0 ! signal 0 4198400", "0 500000 0f05 f65", "0 ! syscall 0 0",
                          "0 ! signal 0 5242880", "0 ! signal 0 6291456", "0 700000 90 f128"));
}

TEST_F(Drmemtrace, SystemCalls) {
  EXPECT_THAT(import(start()
                         .code(0x401000, code::kSyscall)
                         .time(1001).marker(Builder::kSyscall, 202).marker(Builder::kMaybeBlocking, 0)
                         .marker(4, 0x1000000ca).marker(6, 7)
                         .marker(Builder::kKernelStart, 202)
                         .record(Builder::kInstruction, 4, 0xffffffff81000000).read(0xffff888000000000, 8)
                         .marker(Builder::kKernelEnd, 202)
                         .time(1002)
                         .code(0x401002, code::kNop)),
              ElementsAre("0 401000 0f05 f65", "0 ! syscall 202 1", "0 401002 90 f128"));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("1 instructions of the kernel"), HasSubstr("2 markers of functions")));
}

TEST_F(Drmemtrace, GapsAreNoViolations) {
  EXPECT_THAT(import(start()
                         .marker(Builder::kWindow, 0).code(0x401000, code::kNop)
                         .marker(Builder::kWindow, 1).code(0x402000, code::kNop)
                         .code(0x403000, code::kShortJump, Builder::kJump).code(0x403002, code::kNop)
                         .marker(60, 1).marker(Builder::kFileType, 0x80640)),
              ElementsAre("0 401000 1- f128", "0 402000 1- f128", "0 403000 2- f1", "0 403002 90 f128"));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("1 markers of unknown kinds"), HasSubstr("1 times a thread goes on in another window"),
                                  HasSubstr("2 times control goes on elsewhere"), HasSubstr("unknown bits 0x80000")));
}

TEST_F(Drmemtrace, WarmUpThatIsFilteredIsLeftOut) {
  EXPECT_THAT(import(Builder().header(100, 6, 0x2000 | 0x180 | 0x240).time(1)
                         .code(0x401000, code::kNop).read(0x1, 1)
                         .marker(Builder::kFilterEndpoint, 0)
                         .record(Builder::kInstruction, 1, 0x401000).code(0x401001, code::kNop)),
              ElementsAre("0 401000 90 f128", "0 401001 90 f128"));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("1 instructions are left out: they were filtered")));
}

// DR_ISA_REGDEPS, as in Google's traces: what stands for the bytes are none of the processor's.
TEST_F(Drmemtrace, SyntheticInstructionsHaveNoBytes) {
  EXPECT_THAT(import(Builder().header(100, 6, 0x20000 | 0x600).time(1)
                         .encoding({0x11, 0, 1, 0, 6, 9, 6, 0}).record(Builder::kInstruction, 3, 0x401000).read(0x7000, 8)),
              ElementsAre("0 401000 3- f0 load 7000 8"));
}

TEST_F(Drmemtrace, ThreadsInTheOrderOfTheirTimes) {
  Builder().header(7).time(10).code(0x10, code::kNop).code(0x11, code::kNop).time(30).record(10, 1, 0x12).end()
      .save(folder() + "/trace/drmemtrace.x.7.1.trace");
  Builder().header(8).time(20).code(0x10, code::kLoad).read(0x7000, 8).time(40).record(10, 1, 0x13).end()
      .save(folder() + "/trace/drmemtrace.x.8.1.trace");
  std::ofstream(folder() + "/trace/cpu_schedule.bin.zip") << "no trace";
  const std::vector<std::string> expected{"0 10 90 f128", "0 11 90 f128", "1 10 488b07 f0 load 7000 8", "0 12 1- f0", "1 13 1- f0"};
  EXPECT_EQ(import(folder()), expected);
  EXPECT_EQ(import(folder() + "/trace"), expected);
  EXPECT_EQ(Reader(scratch_.file("t")).process_record(0).pid, 99u);
}

// As DynamoRIO's reader goes on behind a footer.
TEST_F(Drmemtrace, FilesBehindEachOther) {
  const std::string first = Builder().header(7).time(10).code(0x10, code::kNop).end().bytes();
  const std::string second = Builder().header(8, 7).time(5).code(0x10, code::kLoad).read(0x7000, 8).end().bytes();
  std::ofstream(scratch_.file("both.trace"), std::ios::binary) << first << second;
  EXPECT_THAT(import(scratch_.file("both.trace")), ElementsAre("0 10 90 f128", "1 10 488b07 f0 load 7000 8"));
  const std::string cut = first + second.substr(0, second.size() - 12);
  EXPECT_THAT(error_of(cut), HasSubstr("without a footer"));
}

// A file for each core: a thread goes on in another one.
TEST_F(Drmemtrace, FilesOfCores) {
  constexpr uint64_t kType = 0x10000 | 0x640;
  Builder().header(7, 6, kType).time(10).code(0x10, code::kNop).thread(8, 98).time(20).code(0x50, code::kNop).end()
      .save(folder() + "/trace/core.0.trace");
  Builder().header(8, 6, kType).thread(8, 98).time(15).code(0x4f, code::kNop).thread(8).code(0x90, code::kNop)
      .thread(7).time(25).code(0x11, code::kNop).end()
      .save(folder() + "/trace/core.1.trace");
  EXPECT_THAT(import(folder()), ElementsAre("0 10 1- f128", "1 4f 1- f128", "2 90 1- f128", "1 50 1- f128", "0 11 1- f128"));
  EXPECT_EQ(Reader(scratch_.file("t")).processes(), 2u);
}

TEST_F(Drmemtrace, WhatIsNotReadSaysWhy) {
  EXPECT_THAT(error_of(Builder().header(1, 8).bytes()), HasSubstr("at offset 0: version 8 of drmemtrace's format: 2 to 7 are read"));
  EXPECT_THAT(error_of(Builder().header(1, 1).bytes()), HasSubstr("version 1"));
  EXPECT_THAT(error_of(Builder().header(1, 6, 0x08).bytes()), HasSubstr("at offset 24: a trace of AArch64: only x86-64 is read"));
  EXPECT_THAT(error_of(Builder().header(1, 6, 0x20).bytes()), HasSubstr("32-bit x86"));
  EXPECT_THAT(error_of(Builder().header(1, 7, 0x40040).bytes()), HasSubstr("a trace of a whole system"));
  EXPECT_THAT(error_of(Builder().header(1, 6, 0x1c0).bytes()), HasSubstr("a filtered trace"));
  EXPECT_THAT(error_of(""), HasSubstr("the file is empty"));
  EXPECT_THAT(error_of(std::string(24, '')), HasSubstr("no trace of drmemtrace: its first record has type 257"));
  EXPECT_THAT(error_of(start().record(77, 0, 0).bytes()), HasSubstr("a record of the unknown type 77"));
  EXPECT_THAT(error_of(start().record(10, 16, 0x10).bytes()), HasSubstr("an instruction of 16 bytes"));
  EXPECT_THAT(error_of(start().record(17, 9, 0x10).bytes()), HasSubstr("a bundle of 9 instructions"));
  fs::create_directories(scratch_.file("d/raw"));
  EXPECT_THAT([&] { import(scratch_.file("d")); }, ::testing::ThrowsMessage<UserError>(HasSubstr("has only raw files")));
  fs::create_directories(scratch_.file("e"));
  EXPECT_THAT([&] { import(scratch_.file("e")); }, ::testing::ThrowsMessage<UserError>(HasSubstr("has no file *.trace")));
}

TEST_F(Drmemtrace, CutOffAnywhere) {
  const std::string whole = start().code(0x401000, code::kRepMovs).read(0x7000, 8).code(0x401003, code::kNop).end().bytes();
  for (size_t size = 1; size < whole.size(); ++size)
    EXPECT_THAT(error_of(whole.substr(0, size)), HasSubstr(size % 12 != 0 ? "ends amid a record of 12 bytes" : "without a footer"))
        << size;
  EXPECT_EQ(error_of(whole), "");
}

}  // namespace
}  // namespace simrun::traces
