// simrun convert --from: records that are put together by hand, read as their own simulators read them.
#include "tests/traces/record_command.h"
#include "traces/export/champsim_record.h"

namespace simrun {
namespace {

class ImportCommand : public RecordCommand {
 protected:
  // What it says; the trace is then in file("t").
  std::string convert(const std::string& format, const std::string& input) {
    std::ofstream(file("input"), std::ios::binary) << input;
    const std::string said = simrun(fmt::format("convert -q --from {} {} -o {}", format, file("input"), file("t")));
    EXPECT_EQ(status_, 0) << said;
    return said;
  }
  // Without the heading.
  std::string csv() {
    const std::string rows = simrun(fmt::format("convert -q --to csv {} -o -", file("t")));
    return rows.substr(rows.find('\n') + 1);
  }
};

// Of letters, as DineroIV's xdinfmt.c: sizes are hexadecimal, m is like a read.
TEST_F(ImportCommand, ExtendedDin) {
  EXPECT_EQ(convert("din", "i 4000 4 comment\nr 1000 10\nw 0X2000 0x20 comment\nr 3000 a\nm 5000 0XA\n"
                           "I 4004 5\nR 6000 8\nW 7000 8\nM 8000 8\n"), "");
  EXPECT_EQ(csv(),
            "0,0,0x4000,fetch,0x4000,4\n0,0,0x4000,load,0x1000,16\n0,0,0x4000,store,0x2000,32\n"
            "0,0,0x4000,load,0x3000,10\n0,0,0x4000,load,0x5000,10\n"
            "1,0,0x4004,fetch,0x4004,5\n1,0,0x4004,load,0x6000,8\n1,0,0x4004,store,0x7000,8\n1,0,0x4004,load,0x8000,8\n");
}

// Of digits, as DineroIV's dinfmt.c: what is behind the address is a comment.
TEST_F(ImportCommand, TraditionalDin) {
  EXPECT_EQ(convert("din", "2 4000 mov eax\n0 1000 10\n1 0x2000\n3 3000\n"), "");
  EXPECT_EQ(csv(), "0,0,0x4000,fetch,0x4000,4\n0,0,0x4000,load,0x1000,4\n0,0,0x4000,store,0x2000,4\n0,0,0x4000,load,0x3000,4\n");
}

TEST_F(ImportCommand, DinSaysWhatItLeavesOut) {
  const std::string said = convert("din", "i 4000 20\nc 1000 0\nV 0 0\n4 1000\n5 1000\n");
  EXPECT_THAT(said, HasSubstr("4 copy-backs and invalidations are left out"));
  EXPECT_THAT(said, HasSubstr("1 fetches are cut to 15 bytes"));
  EXPECT_EQ(csv(), "0,0,0x4000,fetch,0x4000,15\n");
}

TEST_F(ImportCommand, InstructionsOfVeryManyReferencesAreSeveral) {
  std::string din = "2 4000\n", lackey = "I  4000,4\n";
  for (int k = 0; k < 10'000; ++k) din += "1 1000\n", lackey += " S 1000,4\n";
  for (const auto& [format, text] : {std::pair("din", din), std::pair("lackey", lackey)}) {
    EXPECT_THAT(convert(format, text), HasSubstr("instructions with more than 4096 references are 2 more instructions at the same addresses"));
    EXPECT_THAT(csv(), HasSubstr("\n2,0,0x4000,fetch,0x4000,4\n"));
  }
}

using Record = traces::ChampsimRecord;

std::string bytes_of(const std::vector<Record>& records) {
  return {reinterpret_cast<const char*>(records.data()), records.size() * sizeof(Record)};
}

// ChampSim infers from the registers what is a branch; its tracer under Pin 3 sets is_branch for jumps only.
TEST_F(ImportCommand, ChampsimBranchesAreInferredFromRegistersAlone) {
  constexpr uint8_t kSp = 6, kFlags = 25, kIp = 26, kOther = 3, kAny = traces::kChampsimNeverWritten;
  struct Case {
    const char* kind;
    Record record, expected;
  };
  // pc, is_branch, branch_taken, written, read
  const std::vector<Case> cases = {
      {"direct call", {0x1000, 0, 0, {kSp, kIp}, {kSp, kIp}, {}, {}}, {0x1000, 1, 1, {kSp, kIp}, {kIp, kSp}, {}, {}}},
      {"return", {0x2000, 0, 0, {kSp, kIp}, {kSp}, {}, {}}, {0x2000, 1, 1, {kSp, kIp}, {kSp}, {}, {}}},
      {"taken", {0x1005, 1, 1, {kIp}, {kIp, kFlags}, {}, {}}, {0x1005, 1, 1, {kIp}, {kIp, kFlags}, {}, {}}},
      {"on a register", {0x1100, 1, 0, {kIp}, {kIp, kOther}, {}, {}}, {0x1100, 1, 0, {kIp}, {kIp, kFlags}, {}, {}}},
      {"indirect call", {0x1102, 0, 0, {kSp, kIp}, {kSp, kIp, kOther}, {}, {}}, {0x1102, 1, 1, {kSp, kIp}, {kIp, kSp, kAny}, {}, {}}},
      {"short call", {0x3000, 0, 0, {kSp, kIp}, {kSp, kIp}, {}, {}}, {0x3000, 1, 1, {kSp, kIp}, {kIp, kSp}, {}, {}}},
      {"jump", {0x3004, 0, 0, {kIp}, {kIp}, {}, {}}, {0x3004, 1, 1, {kIp}, {kIp}, {}, {}}},
      {"indirect jump", {0x4000, 0, 0, {kIp}, {kOther}, {}, {}}, {0x4000, 1, 1, {kIp}, {kAny}, {}, {}}},
      {"other, not taken", {0x5000, 1, 0, {kIp}, {kFlags}, {}, {}}, {0x5000, 1, 0, {kIp}, {kIp, kFlags}, {}, {}}},
      {"other, taken", {0x5002, 1, 1, {kIp}, {kSp, kIp}, {}, {}}, {0x5002, 1, 1, {kIp}, {kIp, kFlags}, {}, {}}},
      {"none", {0x6000, 1, 1, {kOther}, {kIp, kFlags}, {}, {}}, {0x6000, 0, 0, {}, {}, {}, {}}},
      {"none", {0x6003, 0, 0, {kOther}, {kOther}, {}, {}}, {0x6003, 0, 0, {}, {}, {}, {}}},
  };
  std::vector<Record> records;
  for (const Case& c : cases) records.push_back(c.record);
  EXPECT_EQ(convert("champsim", bytes_of(records)), "");
  const std::string back = run(fmt::format("{} convert -q --to champsim {} -o -", SIMRUN_EXECUTABLE, file("t")));
  ASSERT_EQ(back.size(), records.size() * sizeof(Record));
  for (size_t k = 0; k < cases.size(); ++k)
    EXPECT_EQ(back.substr(k * sizeof(Record), sizeof(Record)), bytes_of({cases[k].expected})) << cases[k].kind;
  EXPECT_THAT(simrun("check " + file("t")), HasSubstr("no violation"));
}

}  // namespace
}  // namespace simrun
