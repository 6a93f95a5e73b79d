// The C++ library as a user has it (installed, found by find_package) and the Python module, on a recorded trace.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "traces/library/trace.h"

namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class LibraryCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string name = (fs::temp_directory_path() / "simrun_library_XXXXXX").string();
    directory_ = mkdtemp(name.data());
    run(fmt::format("{} record -q --chunk-size 64KiB -o {} -- {} 20 2", SIMRUN_EXECUTABLE, file("t"), MARKED_PROGRAM));
  }
  static void TearDownTestSuite() { fs::remove_all(directory_); }

  static std::string file(const std::string& name) { return directory_ + "/" + name; }
  static std::string run(const std::string& command) {
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    std::string output;
    char buffer[4096];
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) != 0;) output.append(buffer, got);
    status_ = WEXITSTATUS(pclose(pipe));
    return output;
  }
  static std::string python(const std::string& script) {
    return run(fmt::format("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={}/python SIMRUN_LIBRARY={} /usr/bin/python3 {}",
                           PROJECT_ROOT, SIMRUN_LIBRARY, script));
  }

  static inline std::string directory_;
  static inline int status_ = 0;
};

TEST_F(LibraryCommand, IteratesOverEverything) {
  const simrun::Trace trace(file("t"));
  EXPECT_EQ(trace.incomplete(), "");
  ASSERT_EQ(trace.threads().size(), 3u);
  uint64_t expected = 0;
  std::vector<uint64_t> next(3), in_thread(3);
  for (const simrun::Instruction& i : trace.instructions()) {
    ASSERT_EQ(i.number, expected++);
    ASSERT_LT(i.thread, 3u);
    ASSERT_EQ(i.number_in_thread, in_thread[i.thread]++);
    ASSERT_TRUE(next[i.thread] == 0 || next[i.thread] == i.pc) << i.number;
    next[i.thread] = i.next_pc;
    ASSERT_GE(i.length, 1);
    ASSERT_EQ(i.code_known, 1);
  }
  EXPECT_EQ(expected, trace.instruction_count());
  for (const auto& thread : trace.threads()) EXPECT_EQ(in_thread[thread.thread], thread.instructions);
  EXPECT_THAT(trace.information(), HasSubstr("marked_program"));
  EXPECT_GE(trace.modules().size(), 3u);
}

TEST_F(LibraryCommand, PartsAreParts) {
  const simrun::Trace trace(file("t"));
  const uint64_t from = trace.instruction_count() / 3, to = from + 10'000;
  std::vector<uint64_t> pcs, again;
  for (const simrun::Instruction& i : trace.instructions())
    if (i.number >= from && i.number < to) pcs.push_back(i.pc);
  for (const simrun::Instruction& i : trace.instructions({from, to})) again.push_back(i.pc);
  EXPECT_EQ(again, pcs);
  for (const simrun::Instruction& i : trace.instructions({0, ~0ull, 1})) ASSERT_EQ(i.thread, 1u);
  auto beyond = trace.instructions({trace.instruction_count(), ~0ull});
  EXPECT_TRUE(beyond.begin() == beyond.end());
}

// What comes before the damage is given out; then the error says where it is.
TEST_F(LibraryCommand, DamageIsAnErrorWhenItIsReached) {
  uint64_t before = 0;
  for (const uint64_t quarter : {1, 2, 3}) {
    fs::copy_file(file("t"), file("bad"), fs::copy_options::overwrite_existing);
    std::fstream out(file("bad"), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(fs::file_size(file("bad")) * quarter / 4));
    out.write("damage", 6).flush();
    uint64_t seen = 0;
    try {
      const simrun::Trace trace(file("bad"));
      for (const simrun::Instruction& i : trace.instructions()) seen += i.number == seen;
      FAIL() << "no error";
    } catch (const simrun::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("bad: at offset "));
    }
    EXPECT_GT(seen, before);
    before = seen;
  }
  EXPECT_THROW(simrun::Trace(file("absent")), simrun::Error);
}

TEST_F(LibraryCommand, ExamplesOfBothLanguagesAgree) {
  run(fmt::format("cmake --install {} --component library --prefix {}", BUILD_ROOT, file("installed")));
  ASSERT_EQ(status_, 0);
  const std::string built =
      run(fmt::format("cmake -S {}/traces/library/examples -B {} -DCMAKE_PREFIX_PATH={} -DCMAKE_CXX_FLAGS='{}' && cmake --build {}",
                      PROJECT_ROOT, file("build"), file("installed"), SANITIZE_FLAGS, file("build")));
  ASSERT_EQ(status_, 0) << built;
  const std::string lines = run(fmt::format("{}/hot_lines {}", file("build"), file("t")));
  EXPECT_EQ(status_, 0) << lines;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 10) << lines;
  if (std::string(SANITIZE_FLAGS).empty()) {
    EXPECT_EQ(python(fmt::format("{}/python/examples/hot_lines.py {}", PROJECT_ROOT, file("t"))), lines);
    // The installed module finds the installed library by itself.
    EXPECT_EQ(run(fmt::format("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={}/lib/python3/dist-packages /usr/bin/python3 "
                              "{}/python/examples/hot_lines.py {}",
                              file("installed"), PROJECT_ROOT, file("t"))),
              lines);
  }
  EXPECT_THAT(run(fmt::format("{}/hot_lines {}", file("build"), file("absent"))), HasSubstr("absent"));
  EXPECT_EQ(status_, 1);
}

// Instructions with thousands of references each (clearing and copying of arrays) make smaller batches.
TEST_F(LibraryCommand, ManyReferencesEndABatch) {
  constexpr uint64_t kReferences = 5 << 20;
  {
    std::ofstream out(file("many.din"));
    out << "2 401000\n";
    for (uint64_t k = 0; k < kReferences; ++k) out << "0 1000\n";
  }
  run(fmt::format("{} convert -q --from din {} -o {}", SIMRUN_EXECUTABLE, file("many.din"), file("many")));
  const simrun::Trace trace(file("many"));
  auto instructions = trace.instructions();
  uint64_t references = 0, seen = 0;
  for (auto batch = instructions.next(1 << 18); !batch.empty(); batch = instructions.next(1 << 18)) {
    uint64_t here = 0;
    for (const simrun::Instruction& i : batch) here += i.reference_count;
    EXPECT_LE(here, 4u << 20);
    references += here;
    seen += batch.size();
  }
  EXPECT_EQ(references, kReferences);
  EXPECT_EQ(seen, trace.instruction_count());
}

// A call of the next instruction (call 1f; 1: pop) is one all the same.
TEST(LibraryInstruction, OnlyConditionalBranchesAreNotTaken) {
  simrun::Instruction i{};
  i.pc = 0x1000;
  i.length = 5;
  const auto taken = [&](int flags, uint64_t next_pc) {
    i.flags = static_cast<uint8_t>(flags);
    i.next_pc = next_pc;
    return i.taken();
  };
  for (const int kind : {0, int{i.call}, int{i.call | i.indirect}, int{i.indirect}, int{i.return_ | i.indirect}})
    for (const uint64_t next : {0x1005, 0x2000, 0}) EXPECT_TRUE(taken(i.ends_block | kind, next)) << kind << " " << next;
  EXPECT_TRUE(taken(i.ends_block | i.conditional, 0x2000));
  EXPECT_FALSE(taken(i.ends_block | i.conditional, 0x1005));
  EXPECT_FALSE(taken(i.ends_block | i.conditional, 0));  // not known
  EXPECT_FALSE(taken(0, 0x2000));
  EXPECT_FALSE(taken(i.ends_block | i.system_call, 0x2000));
}

TEST_F(LibraryCommand, PythonSeesTheSame) {
  if (!std::string(SANITIZE_FLAGS).empty()) GTEST_SKIP() << "a Python without sanitizers cannot load the library";
  const std::string script = fmt::format(R"(
import numpy, simrun
t = simrun.Trace('{}')
n = 0
for b in t.batches(size=10000):
    i, r = b.instructions, b.references
    assert (i['number'] == numpy.arange(n, n + len(i))).all()
    n += len(i)
    assert (numpy.bincount(r['instruction'].astype(int), minlength=len(i)) == i['reference_count']).all()
    assert (i['first_reference'][1:] == numpy.cumsum(i['reference_count'])[:-1]).all()
assert n == t.instruction_count == sum(x['instructions'] for x in t.threads)
part = numpy.concatenate([b.instructions['pc'] for b in t.batches(1000, 2000)])
whole = next(t.batches(size=3000)).instructions['pc'][1000:2000]
assert (part == whole).all()
assert t.summary['exit_code'] == 3 and any('libc' in m['path'] for m in t.modules)
try:
    simrun.Trace('absent')
except simrun.Error as e:
    print('error:', e)
)", file("t"));
  std::ofstream(file("script.py")) << script;
  EXPECT_THAT(python(file("script.py")), HasSubstr("error: "));
  EXPECT_EQ(status_, 0);
}

}  // namespace
