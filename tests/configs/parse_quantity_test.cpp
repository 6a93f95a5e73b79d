#include "base/parse_quantity.h"

#include <gtest/gtest.h>

namespace simrun {
namespace {

TEST(ParseQuantity, IsANumberAndItsUnit) {
  double number = 0;
  std::string_view unit;
  EXPECT_TRUE(split_quantity("1.5 MiB", &number, &unit));
  EXPECT_EQ(number, 1.5);
  EXPECT_EQ(unit, "MiB");
  EXPECT_TRUE(split_quantity("4096", &number, &unit));
  EXPECT_EQ(number, 4096);
  EXPECT_EQ(unit, "");
  EXPECT_TRUE(split_quantity("1e3  ", &number, &unit));
  EXPECT_EQ(number, 1000);
  EXPECT_EQ(unit, "");
  for (const char* wrong : {"", "KiB", " 1", "inf", "nan", "1e999"}) EXPECT_FALSE(split_quantity(wrong, &number, &unit)) << wrong;
}

TEST(ParseQuantity, KnowsTimes) {
  const auto seconds_of = [](const char* text) {
    double seconds = -1;
    return parse_duration(text, &seconds) ? seconds : -1;
  };
  EXPECT_EQ(seconds_of("10"), 10);
  EXPECT_EQ(seconds_of("500ms"), 0.5);
  EXPECT_EQ(seconds_of("10s"), 10);
  EXPECT_EQ(seconds_of("1.5m"), 90);
  EXPECT_EQ(seconds_of("2 min"), 120);
  EXPECT_EQ(seconds_of("2h"), 7200);
  for (const char* wrong : {"", "s", "5 parsecs", "5M", "nan", "1h30"}) EXPECT_EQ(seconds_of(wrong), -1) << wrong;
}

}  // namespace
}  // namespace simrun
