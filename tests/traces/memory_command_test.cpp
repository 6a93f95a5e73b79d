// Memory that processes share, in traces: what is simulated from a trace is what the live run simulated, where the
// model hears names instead of addresses (docs/shared-memory.md).
#include "tests/traces/record_command.h"

namespace simrun {
namespace {

// Two processes write 64 lines in turn: each finds them in the other's cache, if the memory is one. The model's order
// need not be the host's, so that it does not find all of them there.
constexpr uint64_t kRounds = 2000, kTransfers = 2 * 64 * kRounds;

class MemoryOfTraces : public RecordCommand {
 protected:
  MemoryOfTraces() {
    std::ofstream(machine()) << "cores: 2\nlevels:\n"
                                "  - {name: L1, instruction: {size: 32KiB, ways: 8}, data: {size: 32KiB, ways: 8}}\n"
                                "  - {name: L2, shared_by: chip, size: 4MiB, ways: 16}\n";
  }
  std::string machine() const { return file("two.yaml"); }
  static std::string program(const std::string& kind) {
    return fmt::format("{} {} {}", SHARING_PROGRAM, kind, kRounds);
  }

  // Lines that went from core to core.
  static uint64_t transfers(const json& results) {
    uint64_t sum = 0;
    for (const json& t : results["transfers"]) sum += t["lines"].get<uint64_t>();
    return sum;
  }
  json simulated(const std::string& options) {
    EXPECT_EQ(simrun(fmt::format("sim -q -c {} -j {} {} {}", machine(), file("part"), options, file("t"))), "");
    return read("part");
  }
};

TEST_F(MemoryOfTraces, SharedByProcesses) {
  for (const char* kind : {"anonymous", "file", "segment"}) {
    const uint64_t seen = transfers(record_and_simulate("--chunk-size 64KiB", program(kind), machine()));
    EXPECT_GT(seen, kTransfers / 20) << kind;
    EXPECT_LT(seen, kTransfers * 11 / 10) << kind;
  }
  EXPECT_LT(transfers(record_and_simulate("--chunk-size 64KiB", program("private"), machine())), kTransfers / 100);
}

// In a region, what was mapped before it counts. The region is long: in the model's order one process may be ahead by
// all that the other holds back, some chunks of its ring.
// Formats without processes say so; names of memory are positive to who reads them as signed numbers (Ramulator 2: std::stoll).
TEST_F(MemoryOfTraces, ForMemorySimulators) {
  record_and_simulate("", program("file"), machine());
  const std::string convert = fmt::format("convert -q {} --to din -o {}", file("t"), file("d"));
  EXPECT_THAT(simrun(convert), HasSubstr("holds several processes, whose addresses din cannot tell apart: --process N takes one"));
  EXPECT_EQ(status_, 0);
  EXPECT_EQ(simrun(convert + " --process 0"), "");
  EXPECT_EQ(simrun(fmt::format("sim -q -c {} --memory-trace {} --memory-format ramulator-loadstore {}", machine(), file("m"), file("t"))), "");
  std::ifstream in(file("m"));
  uint64_t shared = 0;
  for (std::string what, address; in >> what >> address;) shared += std::stoll(address.substr(2), nullptr, 16) >= 0x7000ll << 48;
  EXPECT_GT(shared, 0u);
}

TEST_F(MemoryOfTraces, SharedInARegion) {
  for (const char* kind : {"anonymous", "file", "segment"}) {
    const json results = record_and_simulate("--region 300k..900k", program(kind), machine());
    EXPECT_GT(transfers(results), results["totals"]["stores"].get<uint64_t>() / 20) << kind;
  }
  EXPECT_EQ(transfers(record_and_simulate("--region 300k..900k", program("private"), machine())), 0);
}

// A part of a whole recording, begun at a chunk in the middle.
TEST_F(MemoryOfTraces, SharedInAPartOfATrace) {
  simrun("record -q --chunk-size 64KiB -o " + file("t") + " -- " + program("file"));
  ASSERT_GT(info("t")["sections"]["chunks"]["count"], 4);
  const json part = simulated("--from 300k --to 900k");
  EXPECT_GT(transfers(part), part["totals"]["stores"].get<uint64_t>() / 20);
  // The same behind a warm-up.
  const json warm = simulated("--from 200k --warm-up 100k --to 900k");
  EXPECT_EQ(warm["totals"]["instructions"], part["totals"]["instructions"]);
  EXPECT_GT(transfers(warm), part["totals"]["stores"].get<uint64_t>() / 20);
  EXPECT_LE(warm["levels"][0]["misses"], part["levels"][0]["misses"]);
}

// Programs and libraries are files: the processes of a shell have their code in the same lines.
TEST_F(MemoryOfTraces, LibrariesOfRealPrograms) {
  const std::string shell = "/bin/sh -c '/bin/true; echo a | cat; /bin/true'";
  const json results = record_and_simulate("", shell, "l3_1core.yaml");
  EXPECT_GE(results["processes"].size(), 4u);
  record_and_simulate("--region 300k..600k", shell, "l3_1core.yaml");
}

// Processes that run long enough to be taken path after path, and end many chunks before the trace does.
TEST_F(MemoryOfTraces, LongProcessesThatEnd) {
  const std::string shell = "/bin/sh -c 'for k in 1 2 3; do /usr/bin/python3 -S -E -c \"print(sum(range(100000)))\"; done'";
  const json results = record_and_simulate("--chunk-size 256KiB", shell, "l3_1core.yaml");
  int long_ones = 0;
  for (const json& process : results["processes"]) long_ones += process["instructions"] > 2'000'000;
  EXPECT_EQ(long_ones, 3);
  EXPECT_GT(info("t")["sections"]["chunks"]["count"], 20);
}

}  // namespace
}  // namespace simrun
