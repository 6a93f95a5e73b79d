// The picture of a machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "configs/describe_machine.h"
#include "configs/read_machine.h"

namespace simrun::configs {
namespace {

TEST(Picture, TwoClusters) {
  const auto machine = parse_machine(
      "name: m\ncores: 4\nlevels:\n"
      "  - {name: L1, instruction: {size: 32KiB, ways: 8}, data: {size: 48KiB, ways: 12, latency: 5}}\n"
      "  - {name: L2, shared_by: 2, size: 1.5MiB, ways: 24, latency: 14}\nmemory: {latency: 99}\n",
      "m.yaml");
  const std::string picture = picture_of(machine);
  const std::string wanted =
      "    core 0      core 1      core 2      core 3\n"
      "  +---------+ +---------+ +---------+ +---------+\n"
      "  | L1I 32K | | L1I 32K | | L1I 32K | | L1I 32K |\n"
      "  | L1D 48K | | L1D 48K | | L1D 48K | | L1D 48K |\n"
      "  +---------+ +---------+ +---------+ +---------+\n"
      "  +---------------------+ +---------------------+\n"
      "  |         L2          | |         L2          |\n"
      "  |        1.5M         | |        1.5M         |\n"
      "  +---------------------+ +---------------------+\n"
      "  +---------------------------------------------+\n"
      "  |                   memory                    |\n"
      "  +---------------------------------------------+\n";
  EXPECT_NE(picture.find(wanted), std::string::npos) << picture;
  EXPECT_NE(picture.find("L2              2 x 1.5 MiB       24     1024           2       14\n"), std::string::npos)
      << picture;
  EXPECT_NE(picture.find("memory                                                         99\n"), std::string::npos)
      << picture;
}

TEST(Picture, OfManyCoresSomeAreLeftOut) {
  const auto machine = parse_machine(
      "cores: 64\nlevels:\n  - {name: L1, size: 32KiB, ways: 8}\n  - {name: L3, shared_by: 8, size: 1MiB, ways: 16}\n",
      "m.yaml");
  const std::string picture = picture_of(machine);
  for (const char* core : {"core 0 ", "core 1 ", "core 7 ", "core 8 ", "core 56 ", "core 63"})
    EXPECT_NE(picture.find(core), std::string::npos) << core << "\n" << picture;
  EXPECT_EQ(picture.find("core 9"), std::string::npos);
  EXPECT_NE(picture.find(" ... "), std::string::npos);
}

// What the picture has no room for stands below it, in the words of the file.
TEST(Picture, NamesWhatIsNotACache) {
  const std::string picture = picture_of(parse_machine(
      "cores: 2\npage: 2MiB\nlevels:\n"
      "  - {name: L1, size: 32KiB, ways: 8, prefetch: [{kind: stride, degree: 2, distance: 3}, {kind: next-line}]}\n"
      "tlb: {instruction: {entries: 16, ways: 4}, data: {entries: 64, ways: 64},\n"
      "      second: {entries: 1536, ways: 12, latency: 7}, walk_latency: 31}\n"
      "memory: {latency: 200, transfer_latency: 44}\n"
      "core: {cpi: 0.3, fetch_exposed: 0.6, read_exposed: 0.4, write_exposed: 0.1}\n",
      "m.yaml"));
  for (const char* part : {"prefetch: stride, degree 2, distance 3; next-line, degree 1, distance 1\n",
                           "transfer_latency: 44\n", "pages of 2 MiB", "instruction, 16 entries, 4 ways",
                           "data, 64 entries, 64 ways", "second, 1536 entries, 12 ways, 7 cycles", "walk_latency: 31",
                           "cpi: 0.3, fetch_exposed: 0.6, read_exposed: 0.4, write_exposed: 0.1\n"})
    EXPECT_NE(picture.find(part), std::string::npos) << part << "\n" << picture;
  EXPECT_EQ(picture.find("inclusion"), std::string::npos) << "level 1 has nothing to include\n" << picture;
  const std::string plain =
      picture_of(parse_machine("cores: 1\nlevels: [{name: L1, size: 4096, ways: 4}]\n", "m.yaml"));
  for (const char* part : {"prefetch", "TLB"}) EXPECT_EQ(plain.find(part), std::string::npos) << part << "\n" << plain;
}

TEST(Picture, EveryMachineFitsIntoTheTerminal) {
  for (const auto& entry : std::filesystem::directory_iterator(MACHINES)) {
    std::istringstream lines(picture_of(read_machine(entry.path().string())));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 120u) << entry.path() << "\n" << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << entry.path();
    }
  }
}

}  // namespace
}  // namespace simrun::configs
