#include "cli/find_functions.h"

#include <gtest/gtest.h>

namespace simrun::cli {
namespace {

TEST(FindFunctions, WithoutParameters) {
  EXPECT_EQ(without_parameters("main"), "main");
  EXPECT_EQ(without_parameters("shop::sell(long, int (*)(char))"), "shop::sell");
  EXPECT_EQ(without_parameters("shop::sell(long) const"), "shop::sell");
  EXPECT_EQ(without_parameters("shop::sell() [clone .cold]"), "shop::sell");
  EXPECT_EQ(without_parameters("shop::operator()(int)"), "shop::operator()");
  EXPECT_EQ(without_parameters("shop::operator()"), "shop::operator()");
  EXPECT_EQ(without_parameters("std::vector<int, std::allocator<int> > make<int, long>(int)"), "make<int, long>");
  EXPECT_EQ(without_parameters("(anonymous namespace)::run(int)"), "(anonymous namespace)::run");
  EXPECT_EQ(without_parameters("(anonymous namespace)"), "(anonymous namespace)");
  EXPECT_EQ(without_parameters("core::ptr::drop"), "core::ptr::drop");
  EXPECT_EQ(without_parameters(""), "");
}

}  // namespace
}  // namespace simrun::cli
