// Names by the symbol table and the linker's own code, of a library without debug information.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "analysis/symbols/module_symbols.h"

namespace simrun::analysis {
namespace {

namespace fs = std::filesystem;

const char* const kSource = R"(#include <stdexcept>
extern "C" long strtol(const char*, char**, int);
extern "C" void alpha() {}
extern "C" void omega() __attribute__((alias("alpha")));
extern "C" void _a() __attribute__((alias("alpha")));
extern "C" void plain() __attribute__((weak, alias("_IO_plain")));
extern "C" void _IO_plain() { asm volatile("nop"); }
extern "C" __attribute__((noinline)) long of_c() { return strtol("1", nullptr, 10) + 1; }
extern "C" __attribute__((noinline)) void of_cpp() { std::__throw_length_error(""); }
)";

struct LinkedSymbols : testing::TestWithParam<std::string> {
  LinkedSymbols() {
    fs::create_directory(directory);
    std::ofstream(directory / "it.cpp") << kSource;
    const std::string options = GetParam();
    if (options.find("lld") != options.npos && std::system("command -v ld.lld >/dev/null") != 0) return;
    const std::string text = "cd '" + directory.string() + "' && g++ -O1 " + options + " -shared -fPIC -o it.so it.cpp";
    EXPECT_EQ(std::system(text.c_str()), 0);
    library = dlopen((directory / "it.so").c_str(), RTLD_LAZY);
    Dl_info info;
    if (library != nullptr && dladdr(dlsym(library, "alpha"), &info) != 0) base = static_cast<const char*>(info.dli_fbase);
  }
  ~LinkedSymbols() override {
    if (library != nullptr) dlclose(library);
    fs::remove_all(directory);
  }
  void SetUp() override {
    if (library == nullptr) GTEST_SKIP() << "no " << GetParam();
  }
  uint64_t address_of(const char* function) const { return static_cast<uint64_t>(static_cast<const char*>(dlsym(library, function)) - base); }
  // What the first call in it goes to.
  uint64_t callee_of(const char* function) const {
    for (uint64_t at = address_of(function);; ++at) {
      int32_t distance = 0;
      std::memcpy(&distance, base + at + 1, sizeof distance);
      const uint64_t target = at + 5 + static_cast<uint64_t>(int64_t{distance});
      if (static_cast<uint8_t>(base[at]) == 0xe8 && target < 0x10000) return target;
    }
  }
  fs::path directory = fs::temp_directory_path() / ("simrun_linked_symbols_test." + std::to_string(getpid()));
  void* library = nullptr;
  const char* base = nullptr;
};

TEST_P(LinkedSymbols, StubsOfCallsIntoOtherModules) {
  ModuleSymbols it((directory / "it.so").string());
  const uint64_t stub = callee_of("of_c");
  ASSERT_EQ(it.frames(stub).size(), 1u);
  EXPECT_EQ(it.frames(stub)[0].function, "strtol@plt");
  EXPECT_EQ(it.frames(stub + 7)[0].function, "strtol@plt");
  EXPECT_EQ(it.function(callee_of("of_cpp"))->name, "std::__throw_length_error(char const*)@plt");
}

// _init has no size.
TEST_P(LinkedSymbols, NoSymbolReachesBeyondItsSection) {
  ModuleSymbols it((directory / "it.so").string());
  const uint64_t stub = callee_of("of_c");
  for (uint64_t at = stub - 64; at < stub + 64; ++at)
    if (const auto function = it.function(at)) {
      EXPECT_TRUE(function->name != "_init" || function->end <= stub - 32) << at;
    }
}

TEST_P(LinkedSymbols, NameOfSeveralAtOneAddress) {
  ModuleSymbols it((directory / "it.so").string());
  EXPECT_EQ(it.function(address_of("alpha"))->name, "alpha");
  EXPECT_EQ(it.function(address_of("plain"))->name, "plain");
}

INSTANTIATE_TEST_SUITE_P(All, LinkedSymbols,
                         testing::Values("-fcf-protection=none -Wl,-z,lazy", "-fcf-protection=full -Wl,-z,lazy", "-fcf-protection=full -Wl,-z,ibtplt",
                                         "-fcf-protection=none -Wl,-z,now", "-fcf-protection=none -Wl,-z,lazy -fuse-ld=lld"));

}  // namespace
}  // namespace simrun::analysis
