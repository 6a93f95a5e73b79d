#include "named_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace simrun::structure {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NamedFunctions, Definitions) {
  EXPECT_TRUE(defines("int f(int x) {\n", "f"));
  EXPECT_TRUE(defines("  uint64_t* C::f() const {\n", "C::f"));
  EXPECT_TRUE(defines("  inline const T& f() const { return t_; }\n", "f"));
  EXPECT_TRUE(defines("[[gnu::noinline]] void f(int x) {\n", "f"));
  EXPECT_TRUE(defines("  std::vector<int> f();\n", "f"));
  EXPECT_TRUE(defines("C::C(int x)\n", "C::C"));
}

TEST(NamedFunctions, CallsAreNoDefinitions) {
  EXPECT_FALSE(defines("  f(x);\n", "f"));
  EXPECT_FALSE(defines("  return f(x);\n", "f"));
  EXPECT_FALSE(defines("  int y = f(x);\n", "f"));
  EXPECT_FALSE(defines("  c.f(x);\n  c->f(x);\n", "f"));
  EXPECT_FALSE(defines("  if (f(x)) {\n", "f"));
  EXPECT_FALSE(defines("// int f(\n", "f"));
  EXPECT_FALSE(defines("int half(int x) {\n", "f"));
  EXPECT_FALSE(defines("void D::f() {\n", "C::f"));
  EXPECT_FALSE(defines("  C::C(x);\n", "C::C"));
}

TEST(NamedFunctions, Missing) {
  char name[] = "/tmp/simrun_names_XXXXXX";
  const fs::path root = mkdtemp(name);
  fs::create_directories(root / "a");
  std::ofstream(root / "a/x.cpp") << "int here() {\n  return gone();\n}\n";
  std::ofstream(root / "doc.md") << "`a/x.cpp: here`, `a/x.cpp: gone`\n`a/y.h: C::here`, `a/x.cpp`, a/x.cpp: nowhere\n";
  EXPECT_THAT(missing_functions(root, "doc.md"),
              ElementsAre("doc.md: a/x.cpp does not define gone", "doc.md: there is no a/y.h"));
  fs::remove_all(root);
}

TEST(Project, FunctionsNamedInDocumentsExist) {
  const fs::path root = PROJECT_ROOT;
  for (const fs::path& file : project_files(root)) {
    if (file.extension() != ".md") continue;
    EXPECT_THAT(missing_functions(root, file), IsEmpty());
  }
  std::ostringstream travels;
  travels << std::ifstream(root / "docs/how-a-reference-travels.md").rdbuf();
  EXPECT_GT(named_functions(travels.str()).size(), 60u);
}

}  // namespace
}  // namespace simrun::structure
