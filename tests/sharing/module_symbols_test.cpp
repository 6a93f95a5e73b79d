// Names of this very program: functions, source lines, inlining, variables with members and elements.
#include "analysis/symbols/module_symbols.h"

#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace shape {

struct Point {
  int x, y;
};
struct Base {
  long id;
};
struct Drawing : Base {
  Point corners[4];
  Point grid[2][3];
};
Drawing drawings[2];
thread_local Drawing of_thread;

int inner_line, outer_line, call_line;
const void* place;

[[gnu::always_inline]] inline void inner() {
  inner_line = __LINE__ + 1;
  asm volatile("lea 0(%%rip), %0" : "=r"(place));
}
[[gnu::noinline]] void outer() {
  call_line = __LINE__ + 1;
  inner();
}

}  // namespace shape

namespace simrun::analysis {
namespace {

namespace fs = std::filesystem;

int* a_static() {
  static int calls = 7;
  return &calls;
}

uint64_t bias_of_this_program() {
  uint64_t bias = 0;
  dl_iterate_phdr([](dl_phdr_info* info, size_t, void* to) { return *static_cast<uint64_t*>(to) = info->dlpi_addr, 1; },
                  &bias);
  return bias;
}

struct OwnSymbols : testing::Test {
  ModuleSymbols self{fs::read_symlink("/proc/self/exe").string()};
  template <class T>
  uint64_t file_address(T* pointer) {
    return reinterpret_cast<uint64_t>(pointer) - bias_of_this_program();
  }
};

TEST_F(OwnSymbols, File) {
  EXPECT_EQ(self.problem(), "");
  EXPECT_NE(self.thread_local_bytes(), 0u);
}

TEST_F(OwnSymbols, Functions) {
  const auto found = self.functions({"_ZN5shape5outerEv", "no_such_function"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].address, file_address(&shape::outer));
}

TEST_F(OwnSymbols, FramesOfInlinedCode) {
  shape::outer();
  const auto frames = self.frames(file_address(shape::place));
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].function, "shape::inner()");
  EXPECT_NEAR(frames[0].line, shape::inner_line, 1);
  EXPECT_EQ(fs::path(frames[0].file).filename(), "module_symbols_test.cpp");
  EXPECT_EQ(frames[1].function, "shape::outer()");
  EXPECT_EQ(frames[1].line, static_cast<uint32_t>(shape::call_line));
}

TEST_F(OwnSymbols, MembersAndElements) {
  const auto y = self.variable(file_address(&shape::drawings[1].corners[2].y));
  ASSERT_TRUE(y);
  EXPECT_EQ(y->name, "shape::drawings");
  EXPECT_EQ(y->member, "[1].corners[2].y");
  EXPECT_EQ(y->size, sizeof shape::drawings);
  EXPECT_EQ(y->element_size, sizeof(shape::Drawing));
  EXPECT_EQ(y->member_size, sizeof(int));
  EXPECT_EQ(y->member_offset, y->offset);
  EXPECT_NE(y->line, 0u);
  const auto grid = self.variable(file_address(&shape::drawings[0].grid[1][2].x) + 3);
  EXPECT_EQ(grid->member, "[0].grid[1][2].x");
  EXPECT_EQ(grid->offset - grid->member_offset, 3u);
  EXPECT_EQ(self.variable(file_address(&shape::drawings[1].id))->member, "[1].id");
}

TEST_F(OwnSymbols, StaticOfAFunction) {
  const auto calls = self.variable(file_address(a_static()));
  ASSERT_TRUE(calls);
  EXPECT_NE(calls->name.find("calls"), std::string::npos);
  EXPECT_EQ(calls->member, "");
}

TEST_F(OwnSymbols, ThreadLocal) {
  uint64_t thread_pointer;
  asm("mov %%fs:0, %0" : "=r"(thread_pointer));
  const uint64_t below = thread_pointer - reinterpret_cast<uint64_t>(&shape::of_thread.corners[1].x);
  const auto x = self.thread_local_variable(self.thread_local_bytes() - below);
  ASSERT_TRUE(x);
  EXPECT_EQ(x->name, "shape::of_thread");
  EXPECT_EQ(x->member, ".corners[1].x");
}

TEST_F(OwnSymbols, NothingThere) {
  EXPECT_FALSE(self.variable(1));
  EXPECT_TRUE(self.frames(1).empty());
}

TEST_F(OwnSymbols, DebugInformationInAFileOfItsOwn) {
  const fs::path directory = fs::temp_directory_path() / ("simrun_symbols_test." + std::to_string(getpid()));
  fs::create_directory(directory);
  const std::string commands = "cd '" + directory.string() + "' && objcopy --only-keep-debug '" + self.path() +
                               "' it.debug && objcopy --strip-all --add-gnu-debuglink=it.debug '" + self.path() +
                               "' it";
  ASSERT_EQ(std::system(commands.c_str()), 0);
  ModuleSymbols stripped((directory / "it").string());
  EXPECT_EQ(stripped.variable(file_address(&shape::drawings[1].corners[2].y))->member, "[1].corners[2].y");
  EXPECT_EQ(stripped.frames(file_address(&shape::outer)).at(0).function, "shape::outer()");
  fs::remove(directory / "it.debug");
  ModuleSymbols bare((directory / "it").string());
  EXPECT_FALSE(bare.variable(file_address(&shape::drawings[1])));
  fs::remove_all(directory);
}

// As in the C library's debug information.
TEST_F(OwnSymbols, VersionsOfSymbols) {
  const fs::path copy = fs::temp_directory_path() / ("simrun_symbols_test." + std::to_string(getpid()));
  const std::string command = "objcopy --strip-debug --redefine-sym _ZN5shape5outerEv=_ZN5shape5outerEv@@V_1.0 '" + self.path() + "' '" + copy.string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  ModuleSymbols versioned(copy.string());
  const auto found = versioned.functions({"_ZN5shape5outerEv"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].address, file_address(&shape::outer));
  EXPECT_EQ(versioned.frames(file_address(&shape::outer)).at(0).function, "shape::outer()");
  fs::remove(copy);
}

TEST(ModuleSymbols, NoModule) {
  EXPECT_NE(ModuleSymbols("/nonexistent/file").problem(), "");
  ModuleSymbols text("/etc/passwd");
  EXPECT_NE(text.problem(), "");
  EXPECT_TRUE(text.frames(0x1000).empty());
  EXPECT_FALSE(text.variable(0x1000));
  EXPECT_TRUE(text.functions({"main"}).empty());
}

TEST(ModuleSymbols, Demangle) {
  EXPECT_EQ(demangle("_ZN5shape5outerEv"), "shape::outer()");
  EXPECT_EQ(demangle("_Znot"), "_Znot");
  EXPECT_EQ(demangle("main"), "main");
  // Rust, both ways of its compilers.
  EXPECT_EQ(demangle("_RNvNtNtNtNtNtCsjrHSEGnQ3l9_3std3sys3pal4unix14stack_overflow11thread_info4LOCK"),
            "std::sys::pal::unix::stack_overflow::thread_info::LOCK");
  EXPECT_EQ(demangle("_ZN1r4main17h086b0cfd890a8ea9E"), "r::main");
  EXPECT_EQ(demangle("_ZN1r4main28_$u7b$$u7b$closure$u7d$$u7d$17h54ad7d9d6f6ab256E"), "r::main::{{closure}}");
  EXPECT_EQ(demangle("_Rnot"), "_Rnot");
}

}  // namespace
}  // namespace simrun::analysis
