// Where signals interrupt a program: what traces say of branches before a fault, and of calls that are made again.
#include <algorithm>
#include <sstream>

#include "tests/traces/record_command.h"
#include "traces/library/trace.h"

namespace simrun {
namespace {

constexpr int kTimes = 10;

class InterruptedCommand : public RecordCommand {
 protected:
  void SetUp() override {
    std::istringstream addresses(simrun(fmt::format("record -q -o {} -- {} {}", file("t"), INTERRUPTED_PROGRAM, kTimes)));
    ASSERT_EQ(status_, 0);
    addresses >> std::hex >> branch_ >> behind_it_;
    ASSERT_LT(branch_, behind_it_);
  }
  std::vector<std::string> lines(const std::string& arguments, const std::string& with) {
    std::istringstream all(simrun(arguments));
    std::vector<std::string> found;
    for (std::string line; std::getline(all, line);)
      if (line.find(with) != std::string::npos) found.push_back(line);
    return found;
  }
  uint64_t branch_ = 0, behind_it_ = 0;
};

TEST_F(InterruptedCommand, ControlFlowHolds) { EXPECT_THAT(simrun("check " + file("t")), HasSubstr("no violation")); }

TEST_F(InterruptedCommand, ABranchBeforeAFaultGoesWhereItWent) {
  const Trace trace(file("t"));
  int found = 0;
  for (const Instruction& i : trace.instructions())
    if (i.pc == branch_) {
      ++found;
      EXPECT_EQ(i.next_pc, behind_it_);
      EXPECT_FALSE(i.taken());
    }
  EXPECT_EQ(found, kTimes);
  const auto viewed = lines(fmt::format("view --no-symbols --follow {:#x} -n 1000 {}", branch_, file("t")), "not taken");
  EXPECT_EQ(viewed.size(), static_cast<size_t>(kTimes));
}

TEST_F(InterruptedCommand, ChampSimsBranchIsNotTaken) {
  simrun(fmt::format("convert -q {} --thread 0 --to champsim -o {}", file("t"), file("c")));
  std::ifstream in(file("c"), std::ios::binary);
  struct {
    uint64_t pc;
    uint8_t is_branch, taken, rest[54];
  } record;
  int found = 0;
  while (in.read(reinterpret_cast<char*>(&record), sizeof record))
    if (record.pc == branch_) {
      ++found;
      EXPECT_EQ(record.is_branch, 1);
      EXPECT_EQ(record.taken, 0);
    }
  EXPECT_EQ(found, kTimes);
}

TEST_F(InterruptedCommand, SignalsSayWhatTheyInterrupted) {
  const auto faults = lines(fmt::format("convert -q {} --to text -o -", file("t")), fmt::format("! signal b {:x}", behind_it_));
  EXPECT_EQ(faults.size(), static_cast<size_t>(kTimes));
  const std::string read = run(fmt::format("{} convert -q {} --thread 0 --to drmemtrace -o {} && python3 {}/tests/traces/read_drmemtrace.py {}",
                                           SIMRUN_EXECUTABLE, file("t"), file("d"), PROJECT_ROOT, file("d")));
  EXPECT_EQ(status_, 0) << read;
}

// ERESTARTSYS (include/linux/errno.h), not the call's number, which is where the kernel leaves it for the second attempt.
TEST_F(InterruptedCommand, CallsMadeAgainHaveNoResult) {
  const auto again = lines(fmt::format("convert -q {} --to text -o -", file("t")), "! syscall-end 0 fffffffffffffe00");
  EXPECT_EQ(again.size(), static_cast<size_t>(kTimes));
}

}  // namespace
}  // namespace simrun
