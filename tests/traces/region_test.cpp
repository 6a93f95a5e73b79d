#include "traces/region.h"

#include <gtest/gtest.h>

#include "base/user_error.h"

namespace simrun::traces {
namespace {

TEST(RegionBound, Text) {
  EXPECT_EQ(parse_region_bound("1000").count, 1000u);
  EXPECT_EQ(parse_region_bound("2.5M").count, 2'500'000u);
  EXPECT_EQ(parse_region_bound("3G").count, 3'000'000'000u);
  EXPECT_EQ(parse_region_bound("1.2B").count, 1'200'000'000u);
  EXPECT_EQ(parse_region_bound("18000000000000000000").count, 18'000'000'000'000'000'000u);
  const RegionBound call = parse_region_bound("main:3");
  EXPECT_EQ(call.kind, RegionBound::Kind::kFunction);
  EXPECT_EQ(call.name, "main");
  EXPECT_EQ(call.count, 3u);
  EXPECT_EQ(parse_region_bound("std::terminate").name, "std::terminate");
  const RegionBound offset = parse_region_bound("libm.so.6+0x1f0:10");
  EXPECT_EQ(offset.kind, RegionBound::Kind::kOffset);
  EXPECT_EQ(offset.name, "libm.so.6");
  EXPECT_EQ(offset.offset, 0x1f0u);
  EXPECT_EQ(offset.count, 10u);
  EXPECT_EQ(parse_region_bound("marker:7").kind, RegionBound::Kind::kMarker);
  EXPECT_EQ(parse_region_bound("marker:7").marker, 7u);
  EXPECT_EQ(parse_region_bound("marker:0x111").marker, 0x111u);
  for (const char* bad : {"", "marker:x", "marker:0x", "marker:0x1g", "marker:5000000000", "main:0x", "lib+0x", "+0x12", "main:1z"})
    EXPECT_THROW(parse_region_bound(bad), UserError) << bad;
}

// Blocks of three instructions at 0x1000, 0x2000, ...; that at 0x3000 holds marker 5.
DescriptorTable three_blocks() {
  DescriptorTable table;
  for (uint32_t k = 0; k < 3; ++k) {
    Superblock s{0x1000 * (k + 1), {{0, 5, 0}, {5, 3, 0}, {8, 2, kEndsBlock}}, {}, {}, {}};
    s.code = {0xbb, 5, 0, 0, 0, 0x64, 0x67, 0x90, 0xeb, 0};
    if (k != 2) s.code = {0xbb, 5, 0, 0, 0, 0x0f, 0x1f, 0, 0xeb, 0};
    table.add_superblock(s);
    table.add_path({k, 3, 0, 0});
  }
  return table;
}

std::string run(const char* from, const char* to, const std::string& blocks) {
  const DescriptorTable table = three_blocks();
  RegionTracker region(*from ? parse_region_bound(from) : RegionBound{}, *to ? parse_region_bound(to) : RegionBound{},
                       [](const Module&, const std::string& name) {
                         return name == "two" ? std::vector<uint64_t>{0x2000} : std::vector<uint64_t>{};
                       });
  region.add_module({0, "/bin/program", "", 0x1000, 0x4000, 0});
  std::string inside;
  for (char block : blocks)
    inside += region.step(0, 0, table, kFirstPath + static_cast<uint32_t>(block - '1'), 3) ? block : '.';
  return inside;
}

TEST(RegionTracker, ByCount) {
  EXPECT_EQ(run("", "", "1231"), "1231");
  EXPECT_EQ(run("6", "", "12312"), "..312");
  EXPECT_EQ(run("5", "", "12312"), "..312");  // the first that starts there or later
  EXPECT_EQ(run("3", "9", "12312"), ".23..");
  EXPECT_THROW(run("9", "9", "1"), UserError);
}

TEST(RegionTracker, ByCode) {
  EXPECT_EQ(run("two", "", "1121"), "..21");
  EXPECT_EQ(run("two:2", "two:2", "121212121"), "...2121..");
  EXPECT_EQ(run("program+0x3000", "", "12312"), ".....");  // the module ends there
  EXPECT_EQ(run("program+0x2008", "12", "1231231"), "..31...");
  EXPECT_EQ(run("marker:5", "two", "1231231"), "..31...");
  EXPECT_EQ(run("marker:6", "", "123123"), "......");
  EXPECT_EQ(run("two", "6", "1122"), "....");  // the count is of the whole run
}

}  // namespace
}  // namespace simrun::traces
