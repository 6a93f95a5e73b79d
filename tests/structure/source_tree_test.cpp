#include "source_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace simrun::structure {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SmallTree : public ::testing::Test {
 protected:
  SmallTree() {
    char name[] = "/tmp/simrun_tree_XXXXXX";
    root_ = mkdtemp(name);
  }
  ~SmallTree() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  fs::path root_;
};

TEST_F(SmallTree, Includes) {
  write("a/README.md", "# a\n\nMay include: b, c/d\n");
  write("a/own.h", "");
  write("b/README.md", "May include:\n");
  write("b/x.h", "");
  write("c/d/x.h", "#include \"b/x.h\"\n");
  write("c/e/x.h", "");
  write("c/README.md", "May include: b\n");
  write("a/deep/fine.cpp", "#include \"a/own.h\"\n#include \"b/x.h\"\n  #  include \"c/d/x.h\"\n#include <vector>\n");
  EXPECT_THAT(forbidden_includes(root_), IsEmpty());
  write("a/bad.cpp", "#include \"b/x.h\"\n#include \"c/e/x.h\"\n");
  write("b/up.h", "#include \"a/own.h\"\n");
  write("b/relative.h", "#include \"x.h\"\n");
  EXPECT_THAT(forbidden_includes(root_), ElementsAre(HasSubstr("a/bad.cpp: may not include \"c/e/x.h\""),
                                                     HasSubstr("b/relative.h: \"x.h\" is not a path from the root"),
                                                     HasSubstr("b/up.h: may not include \"a/own.h\"")));
}

TEST_F(SmallTree, FoldersWithoutRule) {
  write("bare/x.h", "");
  write("tests/t.cpp", "#include \"t.h\"\n#include \"bare/x.h\"\n");
  write("tests/t.h", "");
  EXPECT_THAT(forbidden_includes(root_), ElementsAre(HasSubstr("bare/x.h: no README.md")));
}

TEST_F(SmallTree, MachinePaths) {
  write("notes.md", "see /somewhere/of/mine/file\n");
  write("build/ignored.txt", "/somewhere/of/mine/file\n");
  EXPECT_THAT(machine_paths(root_, {"/somewhere/of/mine"}), ElementsAre(HasSubstr("notes.md")));
  EXPECT_THAT(machine_paths(root_, {"/elsewhere"}), IsEmpty());
}

TEST_F(SmallTree, LongFiles) {
  std::string lines;
  for (int i = 0; i < 601; ++i) lines += "\n";
  write("long.cpp", lines);
  write("excused.h", lines);
  write("data.txt", lines);
  write("fine.h", lines.substr(1));
  write("README.md", lines);
  write("a/README.md", lines.substr(0, 41));
  write("list", "# comment\nexcused.h a generated table\nfine.h was long once\n");
  EXPECT_THAT(long_files(root_, root_ / "list"), ElementsAre(HasSubstr("a/README.md: 41 lines"), HasSubstr("long.cpp: 601 lines"),
                                                             HasSubstr("fine.h: listed as long")));
}

TEST_F(SmallTree, UnlistedDocuments) {
  write("docs/README.md", "# docs\n1 [one](1.md); 2 [two](2.md); 2 [two again](2.md); 3 [three](3.md); [elsewhere](../a/4.md)\n");
  write("docs/1.md", "");
  write("docs/2.md", "");
  write("docs/5.md", "");
  EXPECT_THAT(unlisted_documents(root_, "docs"),
              ElementsAre(HasSubstr("2.md is listed, but"), HasSubstr("3.md is listed, but"), HasSubstr("5.md is not listed")));
}

TEST(Project, IncludesFollowTheFolders) { EXPECT_THAT(forbidden_includes(PROJECT_ROOT), IsEmpty()); }

TEST(Project, NamesNoPathOfThisMachine) {
  const std::string root = PROJECT_ROOT;
  ASSERT_GT(project_files(root).size(), 100u);
  // Assembled, so that this file itself is free of them.
  std::vector<std::string> forbidden = {std::string("/home") + "/", std::string("/Users") + "/"};
  if (fs::path(root).has_parent_path() && fs::path(root).parent_path() != "/") forbidden.push_back(root);
  EXPECT_THAT(machine_paths(root, forbidden), IsEmpty());
}

TEST(Project, DecisionsAreListed) { EXPECT_THAT(unlisted_documents(PROJECT_ROOT, "docs/decisions"), IsEmpty()); }

TEST(Project, FilesAreSmall) { EXPECT_THAT(long_files(PROJECT_ROOT, PROJECT_ROOT "/tests/structure/long_files.txt"), IsEmpty()); }

}  // namespace
}  // namespace simrun::structure
