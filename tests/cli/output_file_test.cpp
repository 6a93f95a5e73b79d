#include "cli/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/unnamed_file.h"
#include "base/user_error.h"

namespace simrun::cli {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() { fs::create_directory(directory_); }
  ~OutputFileTest() override { fs::remove_all(directory_); }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory_), fs::directory_iterator{}));
  }
  std::string read(const std::string& path) const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  const std::string directory_ = fs::temp_directory_path() / ("simrun_output_file_test" + std::to_string(getpid()));
  const std::string path_ = directory_ + "/result.json";
};

TEST_F(OutputFileTest, AppearsWhenComplete) {
  OutputFile file(path_);
  EXPECT_FALSE(fs::exists(path_));
  file.commit("all of it");
  EXPECT_EQ(read(path_), "all of it");
  EXPECT_EQ(files(), 1u);
}

// Where the file system can: it is gone whatever ends the process.
TEST_F(OutputFileTest, HasNoNameBefore) {
  OutputFile file(path_);
  if (const int unnamed = open_unnamed(path_); unnamed >= 0) {
    close(unnamed);
    EXPECT_EQ(files(), 0u);
  } else {
    EXPECT_EQ(files(), 1u);
  }
  std::ofstream(path_) << "old";
  file.commit("new");
  EXPECT_EQ(read(path_), "new");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, LeavesAnOldResultAloneWithoutCommit) {
  std::ofstream(path_) << "old";
  { OutputFile file(path_); }
  EXPECT_EQ(read(path_), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, StandardOutput) {
  testing::internal::CaptureStdout();
  OutputFile("-").commit("all of it");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "all of it");
  EXPECT_FALSE(fs::exists("-"));
}

// What a link leads to is replaced, there or not; the link stays.
TEST_F(OutputFileTest, FollowsLinks) {
  fs::create_directory(directory_ + "/far");
  fs::create_symlink("far/result.json", path_);
  for (const char* contents : {"first", "second"}) {
    OutputFile(path_).commit(contents);
    EXPECT_TRUE(fs::is_symlink(path_));
    EXPECT_EQ(read(directory_ + "/far/result.json"), contents);
  }
  EXPECT_EQ(files(), 2u);
}

// The descriptor itself, where it stands, not the file anew.
TEST_F(OutputFileTest, PathsOfDescriptorsAreThose) {
  std::ofstream(path_) << "before ";
  const int descriptor = open(path_.c_str(), O_WRONLY | O_APPEND);
  OutputFile("/dev/fd/" + std::to_string(descriptor)).commit("and behind");
  close(descriptor);
  EXPECT_EQ(read(path_), "before and behind");
}

TEST_F(OutputFileTest, UnwritablePathsAreFoundAtOnce) {
  EXPECT_THROW(OutputFile(directory_ + "/missing/result.json"), UserError);
  EXPECT_THROW(OutputFile{directory_}, UserError);
}

TEST_F(OutputFileTest, FullDiskIsAnError) {
  OutputFile file("/dev/full");
  EXPECT_THROW(file.commit("words"), UserError);
  EXPECT_TRUE(fs::exists("/dev/full"));
}

}  // namespace
}  // namespace simrun::cli
