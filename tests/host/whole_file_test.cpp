#include "base/whole_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

namespace simrun {
namespace {

TEST(WholeFile, OfSeveralReads) {
  const std::string path = testing::TempDir() + "whole_file_" + std::to_string(getpid());
  const std::string written(200'000, 'x');
  std::ofstream(path) << written;
  std::string text = "before";
  EXPECT_EQ(read_whole(path.c_str(), &text), 0);
  EXPECT_EQ(text, written);
  EXPECT_EQ(read_whole("/proc/self/cmdline", &text), 0);
  EXPECT_LE(text.capacity(), std::max(text.size(), sizeof text));   // it may be kept
  std::filesystem::remove(path);
  EXPECT_EQ(read_whole(path.c_str(), &text), ENOENT);
  EXPECT_EQ(text, "");
}

// As /proc/PID/cmdline of a process that has gone since it was opened.
TEST(WholeFile, ThatCanBeOpenedButNotRead) {
  std::string text;
  EXPECT_EQ(read_whole("/proc/self/mem", &text), EIO);
  EXPECT_EQ(read_whole("/", &text), EISDIR);
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace simrun
