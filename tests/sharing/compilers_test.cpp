// Names in one small library, whichever compiler and form of debug information it was built with.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "analysis/symbols/module_symbols.h"

namespace simrun::analysis {
namespace {

namespace fs = std::filesystem;

const char* const kSource = R"(struct Point { long x, y; };
struct Drawing { Point corners[2]; struct { long id; }; };
extern "C" { Drawing drawing; thread_local Drawing of_thread; }
static inline __attribute__((always_inline)) void inner(volatile long* p) {
  *p = *p + 1;
}
namespace tally {
static long counts[4];
void outer() {
  inner(&drawing.corners[1].y);
}
static inline long* total() { static long sums[4]; return sums; }
}
extern "C" void* code() { return reinterpret_cast<void*>(&tally::outer); }
extern "C" void* element() { return &tally::counts[1]; }
extern "C" void* of_function() { return &tally::total()[2]; }
extern "C" void* of_lambda() { auto f = [] { static long many[4]; return many; }; return &f()[3]; }
)";

struct Compilers : testing::TestWithParam<std::string> {
  Compilers() {
    const std::string command = GetParam();
    const std::string compiler = command.substr(0, command.find(' '));
    if (std::system(("command -v " + compiler + " >/dev/null").c_str()) != 0) return;
    fs::create_directory(directory);
    std::ofstream(directory / "it.cpp") << kSource;
    const std::string text = "cd '" + directory.string() + "' && " + command + " -shared -fPIC -o it.so it.cpp";
    EXPECT_EQ(std::system(text.c_str()), 0);
    library = dlopen((directory / "it.so").c_str(), RTLD_NOW);
  }
  ~Compilers() override {
    if (library != nullptr) dlclose(library);
    fs::remove_all(directory);
  }
  void SetUp() override {
    if (library == nullptr) GTEST_SKIP() << "no " << GetParam();
  }
  uint64_t file_address(const void* pointer) const {
    Dl_info info;
    return dladdr(dlsym(library, "code"), &info) == 0
               ? 0
               : reinterpret_cast<uint64_t>(pointer) - reinterpret_cast<uint64_t>(info.dli_fbase);
  }
  const void* call(const char* name) const { return reinterpret_cast<void* (*)()>(dlsym(library, name))(); }
  fs::path directory = fs::temp_directory_path() / ("simrun_compilers_test." + std::to_string(getpid()));
  void* library = nullptr;
};

TEST_P(Compilers, LinesAndInlinedFunctions) {
  ModuleSymbols it((directory / "it.so").string());
  const uint64_t outer = file_address(call("code"));
  std::vector<SourceFrame> frames;
  for (uint64_t at = outer; at < outer + 64 && (frames.size() < 2 || frames[0].line == 0); ++at) frames = it.frames(at);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_TRUE(frames[0].function.starts_with("inner")) << frames[0].function;
  EXPECT_EQ(frames[0].line, 5u);
  EXPECT_EQ(fs::path(frames[0].file).filename(), "it.cpp");
  EXPECT_TRUE(frames[1].function.starts_with("tally::outer")) << frames[1].function;
  EXPECT_EQ(frames[1].line, 10u);
  EXPECT_EQ(fs::path(frames[1].file).filename(), "it.cpp");
}

TEST_P(Compilers, Variables) {
  ModuleSymbols it((directory / "it.so").string());
  const uint64_t drawing = file_address(dlsym(library, "drawing"));
  const auto y = it.variable(drawing + 24);
  ASSERT_TRUE(y);
  EXPECT_EQ(y->name + y->member, "drawing.corners[1].y");
  EXPECT_EQ(fs::path(y->file).filename(), "it.cpp");
  EXPECT_EQ(y->line, 3u);
  EXPECT_EQ(it.variable(drawing + 32)->member, ".id");
  const auto element = it.variable(file_address(call("element")));
  ASSERT_TRUE(element);
  EXPECT_EQ(element->name + element->member, "tally::counts[1]");
}

TEST_P(Compilers, VariablesOfFunctionsThatAreInlinedEverywhere) {
  ModuleSymbols it((directory / "it.so").string());
  const auto sum = it.variable(file_address(call("of_function")));
  ASSERT_TRUE(sum);
  EXPECT_TRUE(sum->name.ends_with("total()::sums")) << sum->name;   // GCC does not say of which namespace
  EXPECT_EQ(sum->member, "[2]");
  const auto many = it.variable(file_address(call("of_lambda")));
  ASSERT_TRUE(many);
  EXPECT_NE(many->name.find("of_lambda"), std::string::npos) << many->name;
  EXPECT_TRUE(many->name.ends_with("::many")) << many->name;
}

TEST_P(Compilers, ThreadLocalVariables) {
  const std::string command = GetParam();
  if (command.starts_with("g++") && command.find("split") != command.npos)
    GTEST_SKIP() << "GCC 12 writes the address of the first thread-local byte in the file into .debug_addr, not 0";
  ModuleSymbols it((directory / "it.so").string());
  const auto own = it.thread_local_variable(16);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->name + own->member, "of_thread.corners[1].x");
}

const char* const kFortran = R"(module state
  type cell
    integer(8) :: n
    real(8) :: w
  end type
  type(cell) :: cells(4)
  integer(8) :: grid(0:2, 5)
end module
subroutine count
  use state
  integer(8) :: first, total(4)
  common /blk/ first, total
  cells(2)%n = cells(2)%n + 1
  grid(1, 2) = first
  total(3) = total(3) + 1
end subroutine
)";

TEST(Fortran, VariablesOfModulesAndCommonBlocks) {
  if (std::system("command -v gfortran >/dev/null") != 0) GTEST_SKIP() << "no gfortran";
  const fs::path directory = fs::temp_directory_path() / ("simrun_fortran_test." + std::to_string(getpid()));
  fs::create_directory(directory);
  std::ofstream(directory / "it.f90") << kFortran;
  const std::string command = "cd '" + directory.string() + "' && gfortran -g -shared -fPIC -o it.so it.f90";
  ASSERT_EQ(std::system(command.c_str()), 0);
  void* const library = dlopen((directory / "it.so").c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  ModuleSymbols it((directory / "it.so").string());
  Dl_info info;
  ASSERT_NE(dladdr(dlsym(library, "blk_"), &info), 0);
  const auto variable = [&](const char* symbol, uint64_t offset) {
    const auto base = reinterpret_cast<uint64_t>(info.dli_fbase);
    return it.variable(reinterpret_cast<uint64_t>(dlsym(library, symbol)) - base + offset).value_or(VariablePlace());
  };
  const VariablePlace n = variable("__state_MOD_cells", 16);
  EXPECT_EQ(n.name + n.member, "state::cells[2].n");
  EXPECT_EQ(n.element_size, 16u);
  EXPECT_EQ(n.line, 6u);
  const VariablePlace g = variable("__state_MOD_grid", 8 * (1 + 3 * 1));
  EXPECT_EQ(g.name + g.member, "state::grid[1][2]");
  EXPECT_EQ(variable("blk_", 0).name, "blk::first");
  const VariablePlace total = variable("blk_", 8 + 16);
  EXPECT_EQ(total.name + total.member, "blk::total[3]");
  EXPECT_EQ(total.line, 11u);
  dlclose(library);
  fs::remove_all(directory);
}

INSTANTIATE_TEST_SUITE_P(All, Compilers,
                         testing::Values("g++ -g -O2", "g++ -g -O2 -gdwarf-4", "g++ -g -O2 -gsplit-dwarf",
                                         "g++ -g -O2 -gsplit-dwarf -gdwarf-4", "g++ -g -O2 -fdebug-types-section",
                                         "clang++-14 -g -O2", "clang++-14 -g -O2 -gsplit-dwarf"));

}  // namespace
}  // namespace simrun::analysis
