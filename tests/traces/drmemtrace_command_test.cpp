// simrun convert --from and --to drmemtrace, and what the other commands make of the result.
#include "tests/traces/drmemtrace_builder.h"
#include "tests/traces/record_command.h"
#include "traces/export/drmemtrace_record.h"

#include <map>

namespace simrun {
namespace {

using Builder = DrmemtraceBuilder;
namespace drmemtrace = traces::drmemtrace;

class DrmemtraceCommand : public RecordCommand {
 protected:
  // Two threads as raw2trace writes them: an archive of chunks, in each of which times and bytes come anew.
  void make_folder() {
    fs::create_directories(file("drmemtrace.p.99.1.dir/trace"));
    Builder first = Builder().header(7).time(1000);
    for (uint64_t k = 0; k < 100; ++k) {
      first.encoding(k == 0 ? code::kLoad : std::vector<uint8_t>{}).record(10, 3, 0x401000).read(0x10000 + 64 * k, 8);
      first.encoding(k == 0 ? code::kJumpBack : std::vector<uint8_t>{});
      first.record(k < 99 ? Builder::kTaken : Builder::kUntaken, 2, 0x401003);
    }
    first.marker(Builder::kChunkFooter, 0);
    Builder second = Builder().marker(Builder::kOrdinal, 300).time(1000);
    second.code(0x401005, code::kRepMovs);
    for (uint64_t k = 0; k < 50; ++k) {
      if (k != 0) second.record(Builder::kNoFetch, 3, 0x401005);
      second.read(0x20000 + 8 * k, 8).write(0x30000 + 8 * k, 8);
    }
    second.code(0x401008, code::kAdd).read(0x40000, 8).write(0x40000, 8).code(0x40100b, code::kSyscall);
    second.time(2000).marker(Builder::kSyscall, 39).time(2001).code(0x40100d, code::kNop).end();
    first.save(file("chunk.0000"));
    second.save(file("chunk.0001"));
    const std::string folder = file("drmemtrace.p.99.1.dir/trace/drmemtrace.p.");
    Builder().header(8).time(1500).code(0x402000, code::kNop).end().save(folder + "8.2.trace");
    EXPECT_EQ(run(fmt::format("cd {} && python3 -m zipfile -c {}7.1.trace.zip chunk.0000 chunk.0001", file(""), folder)), "");
  }
  std::string convert(const std::string& input) {
    return simrun(fmt::format("convert -q --from drmemtrace {} -o {}", file(input), file("t")));
  }
  std::string text(const std::string& trace) { return simrun(fmt::format("convert -q {} --to text -o -", file(trace))); }
};

TEST_F(DrmemtraceCommand, FolderOfThreads) {
  make_folder();
  EXPECT_EQ(convert("drmemtrace.p.99.1.dir"), "");
  ASSERT_EQ(status_, 0);
  EXPECT_THAT(simrun("check " + file("t")), HasSubstr("no violation"));
  const std::string sim = simrun(fmt::format("sim -q --config l3_8core --json {} {}", file("json"), file("t")));
  EXPECT_EQ(status_, 0) << sim;
  const json results = read("json");
  EXPECT_EQ(results["totals"]["instructions"], 205);
  EXPECT_EQ(results["totals"]["loads"], 100 + 50 + 1);
  EXPECT_EQ(results["totals"]["stores"], 50 + 1);
  EXPECT_EQ(results["totals"]["string_iterations"], 50);
  EXPECT_EQ(results["threads"].size(), 2u);
  // The times say that the second thread ran before the last instruction of the first.
  EXPECT_THAT(simrun(fmt::format("view --no-symbols --from 203 -n 2 {}", file("t"))),
              testing::ContainsRegex("203 t1 +0*402000 +nop *\n +204 t0 +0*40100d +nop"));
}

// The bytes say which registers an instruction reads and writes.
TEST_F(DrmemtraceCommand, RegistersForChampsim) {
  make_folder();
  convert("drmemtrace.p.99.1.dir");
  simrun(fmt::format("convert -q {} --to champsim --thread 0 -o {}", file("t"), file("c")));
  std::ifstream in(file("c"), std::ios::binary);
  std::string load(64, '\0');
  in.read(load.data(), 64);
  EXPECT_EQ(load[8], 0);
  EXPECT_EQ(load[10], 32);  // %rax
  EXPECT_EQ(load[12], 39);  // %rdi
}

TEST_F(DrmemtraceCommand, FilesOfEachCompression) {
  make_folder();
  const std::string folder = "drmemtrace.p.99.1.dir/trace/";
  EXPECT_EQ(convert(folder + "drmemtrace.p.7.1.trace.zip"), "");
  EXPECT_THAT(simrun("info " + file("t")), HasSubstr("204"));
  EXPECT_EQ(run("gzip " + file(folder + "drmemtrace.p.8.2.trace")), "");
  EXPECT_EQ(convert(folder + "drmemtrace.p.8.2.trace.gz"), "");
  EXPECT_EQ(convert("drmemtrace.p.99.1.dir/trace"), "");
}

// Lines of --to text without numbers, threads and events; drmemtrace has no read-modify-writes.
std::string without_numbers(const std::string& text) {
  std::istringstream in(text);
  std::string all;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string number, thread, pc, code, kind, address, bytes;
    words >> number >> thread >> pc >> code;
    if (pc == "!") continue;
    all += pc + " " + code;
    while (words >> kind >> address >> bytes) {
      const bool both = kind == "modify";
      for (const char* one : {both ? "load" : kind.c_str(), both ? "store" : nullptr})
        if (one != nullptr) all += fmt::format(" {} {} {}", one, address, bytes);
    }
    all += "\n";
  }
  return all;
}

// A real program's, read by another reader, and again by ours.
TEST_F(DrmemtraceCommand, WhatIsWrittenIsRead) {
  simrun(fmt::format("record -q -o {} --from work_step --to work_step:2 -- {} 12", file("t"), MARKED_PROGRAM));
  const std::string recorded = text("t");
  EXPECT_EQ(simrun(fmt::format("convert -q {} --to drmemtrace -o {}", file("t"), file("d.trace.gz"))), "");
  const std::string said = run(fmt::format("python3 {}/tests/traces/read_drmemtrace.py {}", PROJECT_ROOT, file("d.trace.gz")));
  ASSERT_EQ(status_, 0);
  EXPECT_GT(said.size(), 100'000u);
  EXPECT_TRUE(said == without_numbers(recorded));
  EXPECT_EQ(simrun(fmt::format("convert -q {} --from drmemtrace -o {}", file("d.trace.gz"), file("back"))), "");
  EXPECT_THAT(simrun("check " + file("back")), HasSubstr("no violation"));
  EXPECT_TRUE(without_numbers(text("back")) == without_numbers(recorded));
  simrun(fmt::format("convert -q {} --to drmemtrace -o {}", file("back"), file("again.trace.gz")));
  EXPECT_EQ(run(fmt::format("cmp {} {}", file("d.trace.gz"), file("again.trace.gz"))), "");
}

// DynamoRIO's invariant checker counts one for each operand. The dynamic linker saves registers by xsavec, once for each function it looks up.
TEST_F(DrmemtraceCommand, OneReferenceForASavedArea) {
  run(fmt::format("env -u LD_BIND_NOW {} record -q --from main -o {} -- {} 1", SIMRUN_EXECUTABLE, file("t"), MARKED_PROGRAM));
  EXPECT_EQ(simrun(fmt::format("convert -q {} --to drmemtrace --process 0 --thread 0 -o {}", file("t"), file("d.trace.gz"))), "");
  std::istringstream lines(run(fmt::format("python3 {}/tests/traces/read_drmemtrace.py {}", PROJECT_ROOT, file("d.trace.gz"))));
  size_t areas = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string pc, code;
    words >> pc >> code;
    const bool is_save = code.starts_with("0fc7") && (std::stoi(code.substr(4, 2), nullptr, 16) >> 3 & 7) == 4;   // xsavec
    if (!is_save) continue;
    ++areas;
    std::string kind, address, bytes, more;
    ASSERT_TRUE(words >> kind >> address >> bytes) << line;
    EXPECT_FALSE(words >> more) << line;
    EXPECT_EQ(kind, "store");
    EXPECT_GE(std::stoi(bytes), 576);
  }
  EXPECT_GT(areas, 0u);
}

// Events, string instructions and the order of threads come back as they were.
TEST_F(DrmemtraceCommand, ThreadsAndEventsComeBack) {
  make_folder();
  Builder().header(9).time(1200).code(0x401000, code::kRepMovs).read(0x7010, 8).write(0x9010, 8)
      .record(Builder::kNoFetch, 3, 0x401000).read(0x7008, 8).write(0x9008, 8)
      .marker(Builder::kKernelEvent, 0x401003)
      .code(0x500000, code::kSyscall).marker(Builder::kSyscall, 15).marker(Builder::kKernelTransfer, 0x500002)
      .time(1600).code(0x401003, code::kNop).end().save(file("drmemtrace.p.99.1.dir/trace/x.trace"));
  EXPECT_EQ(convert("drmemtrace.p.99.1.dir"), "");
  EXPECT_THAT(simrun(fmt::format("convert {} --to drmemtrace -o {}", file("t"), file("x"))),
              HasSubstr("a file of drmemtrace holds one"));
  fs::create_directories(file("out"));
  for (int thread : {0, 1, 2}) {
    simrun(fmt::format("convert -q {0} --to drmemtrace --thread {1} -o {2}/{1}.trace", file("t"), thread, file("out")));
    EXPECT_EQ(status_, 0);
  }
  const std::string before = text("t");
  EXPECT_THAT(before, HasSubstr("! signal"));
  EXPECT_THAT(before, HasSubstr("! syscall 27"));
  EXPECT_EQ(convert("out"), "");
  EXPECT_EQ(text("t"), before);
}

// Instructions, times and what has to do with signals, in the order of the file.
std::string sequence(const std::string& path) {
  using drmemtrace::Marker, drmemtrace::Type;
  const std::map<Marker, const char*> names = {{Marker::kTimestamp, "time"}, {Marker::kKernelEvent, "signal"},
                                               {Marker::kKernelTransfer, "returned"}, {Marker::kSyscall, "syscall"}};
  std::ifstream in(path, std::ios::binary);
  std::string all;
  for (drmemtrace::Record r; in.read(reinterpret_cast<char*>(&r), sizeof r);) {
    const auto type = static_cast<Type>(r.type);
    const auto name = names.find(static_cast<Marker>(r.size));
    if (type == Type::kMarker && name != names.end()) all += fmt::format("{} {:x}; ", name->second, uint64_t{r.value});
    if ((type >= Type::kInstruction && type <= Type::kReturn) || type == Type::kTakenJump || type == Type::kUntakenJump)
      all += fmt::format("{:x}; ", uint64_t{r.value});
  }
  return all;
}

// DynamoRIO's tools switch threads at times, and rely on it that a branch and where it goes follow each other.
TEST_F(DrmemtraceCommand, NoTimeBehindABranch) {
  fs::create_directories(file("in"));
  Builder().header(7).time(1000).code(0x401000, code::kLoad).code(0x401003, code::kJumpBack, Builder::kTaken)
      .time(3000).record(10, 3, 0x401000).record(Builder::kTaken, 2, 0x401003)
      .time(5000).record(10, 3, 0x401000).time(6000).record(Builder::kUntaken, 2, 0x401003)
      .time(8000).code(0x401005, code::kNop).code(0x401006, code::kNop).end().save(file("in/7.trace"));
  Builder().header(8).time(2000).code(0x402000, code::kNop).time(4000).code(0x402001, code::kNop)
      .time(7000).code(0x402002, code::kNop).end().save(file("in/8.trace"));
  EXPECT_EQ(convert("in"), "");
  fs::create_directories(file("out"));
  for (int thread : {0, 1})
    simrun(fmt::format("convert -q {0} --to drmemtrace --thread {1} -o {2}/{1}.trace", file("t"), thread, file("out")));
  EXPECT_EQ(sequence(file("out/0.trace")),
            "time 1; 401000; 401003; 401000; time 5; 401003; 401000; time 8; 401003; 401005; time b; 401006; ");
  EXPECT_EQ(sequence(file("out/1.trace")), "time 3; 402000; time 6; 402001; time 9; 402002; ");
}

// Two signals one behind the other: the thread is where the first one found it, not behind the call that returns.
TEST_F(DrmemtraceCommand, SignalBehindTheReturnOfAHandler) {
  Builder made = Builder().header(7).time(1).code(0x401000, code::kNop).marker(Builder::kKernelEvent, 0x401001);
  made.code(0x500000, code::kSyscall).marker(Builder::kSyscall, 15).marker(Builder::kKernelTransfer, 0x500002);
  made.marker(Builder::kKernelEvent, 0x401001);
  made.code(0x600000, code::kSyscall).marker(Builder::kSyscall, 15).marker(Builder::kKernelTransfer, 0x600002);
  made.code(0x401001, code::kNop).end().save(file("made.trace"));
  EXPECT_EQ(convert("made.trace"), "");
  simrun(fmt::format("convert -q {} --to drmemtrace -o {}", file("t"), file("x.trace")));
  EXPECT_EQ(sequence(file("x.trace")), "time 1; 401000; signal 401001; 500000; syscall f; returned 500002; signal 401001; "
                                       "600000; syscall f; returned 600002; 401001; ");
}

// The type of a file promises what is in it: DynamoRIO's tools end where an instruction has no encoding then, or where a
// call may block that the type does not know of.
TEST_F(DrmemtraceCommand, TypeOfTheFile) {
  const auto type = [&] {
    simrun(fmt::format("convert -q {} --to drmemtrace -o {}", file("t"), file("x.trace")));
    EXPECT_EQ(status_, 0);
    std::ifstream in(file("x.trace"), std::ios::binary);
    drmemtrace::Record records[3];
    in.read(reinterpret_cast<char*>(records), sizeof records);
    EXPECT_EQ(records[2].size, static_cast<uint16_t>(drmemtrace::Marker::kFileType));
    return uint64_t{records[2].value};
  };
  Builder known = Builder().header(7).time(1).code(0x401000, code::kNop);
  Builder(known).end().save(file("known.trace"));
  known.record(10, 3, 0x401001).end().save(file("gap.trace"));
  std::ofstream(file("x.din")) << "2 401000\n";
  EXPECT_EQ(convert("known.trace"), "");
  EXPECT_EQ(type(), 0xe40u);
  EXPECT_EQ(convert("gap.trace"), "");
  EXPECT_EQ(type(), 0xc40u);
  simrun(fmt::format("convert -q --from din {} -o {}", file("x.din"), file("t")));
  EXPECT_EQ(type(), 0xc40u);
}

TEST_F(DrmemtraceCommand, BadInputSaysWhere) {
  Builder().header(7).time(1).record(10, 1, 0x10).record(10, 1, 0x11).save(file("cut.trace"));
  EXPECT_THAT(convert("cut.trace"), HasSubstr("cut.trace: at offset 144: the file ends without a footer: it was cut off"));
  EXPECT_EQ(status_, 1);
  EXPECT_FALSE(fs::exists(file("t")));
  Builder().header(7).time(1).end().save(file("none.trace"));
  EXPECT_THAT(convert("none.trace"), HasSubstr("holds no instruction in the format drmemtrace"));
  EXPECT_THAT(convert("nothing"), HasSubstr("cannot read"));
  Builder().header(7).time(1).record(10, 1, 0x10).record(0, 1, 0x11).marker(60, 0).end().save(file("odd.trace"));
  EXPECT_THAT(convert("odd.trace"), HasSubstr("odd.trace: 1 markers of unknown kinds are left out"));
  EXPECT_EQ(status_, 0);
}

TEST_F(DrmemtraceCommand, IsNamedWhereFormatsAre) {
  EXPECT_THAT(simrun("convert --help"), HasSubstr("drmemtrace          DynamoRIO's drmemtrace"));
  const std::string complete =
      fmt::format("bash -c 'PATH={}:$PATH; source <(simrun completion bash); COMP_WORDS=(simrun convert --from \"\"); "
                  "COMP_CWORD=3; _simrun; echo ${{COMPREPLY[@]}}'",
                  fs::path(SIMRUN_EXECUTABLE).parent_path().string());
  EXPECT_EQ(run(complete), "champsim din drmemtrace lackey\n");
}

}  // namespace
}  // namespace simrun
