// Files of other simulators' formats appear when they are complete.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include "base/unnamed_file.h"
#include "base/user_error.h"
#include "tests/traces/made_trace.h"
#include "traces/export/compressed_file.h"

namespace simrun::traces {
namespace {

namespace fs = std::filesystem;

size_t files(const std::string& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator{}));
}

TEST(CompressedOutput, HasNoNameBefore) {
  const ScratchDirectory scratch;
  size_t named = 1;  // where the file system has none without
  if (const int unnamed = open_unnamed(scratch.file("x")); unnamed >= 0) named = 0, close(unnamed);
  for (const char* name : {"x", "x.gz", "x.xz", "x.zst"}) {
    SCOPED_TRACE(name);
    {
      CompressedOutput unfinished(scratch.file(name));
      unfinished.write("some");
      EXPECT_EQ(files(scratch.file("")), named);
    }
    EXPECT_EQ(files(scratch.file("")), 0u);
    for (int again = 0; again < 2; ++again) {
      CompressedOutput out(scratch.file(name));
      out.write("all of it");
      out.finish();
    }
    EXPECT_EQ(files(scratch.file("")), 1u);
    fs::remove(scratch.file(name));
  }
}

TEST(CompressedOutput, WhatIsNoFileIsNotReplaced) {
  const ScratchDirectory scratch;
  EXPECT_THROW(CompressedOutput(scratch.file("")), UserError);
  ASSERT_EQ(symlink("/dev/null", scratch.file("null").c_str()), 0);
  CompressedOutput out(scratch.file("null"));
  out.write("all of it");
  out.finish();
  EXPECT_TRUE(fs::is_symlink(scratch.file("null")));
}

}  // namespace
}  // namespace simrun::traces
