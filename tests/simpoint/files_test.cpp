// Every file that simpoint/ reads and writes: there and back, damaged, and as SimPoint 3.2 would see it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/user_error.h"
#include "in_folder.h"
#include "planted_phases.h"
#include "simpoint/random.h"
#include "simpoint/read_points.h"
#include "simpoint/read_profile.h"
#include "simpoint/write_bytes.h"
#include "simpoint/write_points.h"
#include "simpoint/write_profile.h"

namespace simrun::simpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Files : public InFolder {};

struct Read {
  ReadProfile file;
  std::vector<std::vector<Entry>> vectors;
};

Read read(const std::string& path) {
  Read r;
  r.file = read_profile(
      path, [&](std::span<const Entry> entries) { r.vectors.emplace_back(entries.begin(), entries.end()); });
  return r;
}

std::string reading_error(const std::string& path) {
  try {
    read(path);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

Profile sample_profile(size_t intervals, size_t blocks) {
  Profile p;
  p.command = "gzip -c some file";
  p.kind = IntervalKind::kLoop;
  p.interval_length = 1000;
  p.instructions = 1003 * intervals;
  p.left_out = 17;
  p.threads = 2;
  for (size_t i = 0; i < intervals; ++i)
    p.intervals.push_back(
        {1003 * i,
         1003,
         {{0x400000 + i, "/usr/bin/with space", i}, i % 3, i % 4 ? "0.1x" : "", i % 5 ? "0.2" : "", i % 5},
         i % 7,
         {10 * i, 3 * i, i % 4, i, i / 2}});
  for (size_t b = 0; b < blocks; ++b)
    p.blocks.push_back({{0x7fff00 + b, b % 2 ? "" : "/lib/x.so", b}, b % 2 ? 1u : 0u});
  for (size_t i = 0; i < intervals; i += 3) p.intervals[i].left_out = i;
  p.modules = {{"/lib/of no block.so", "00"}, {"/lib/x.so", "0123456789abcdef"}};
  return p;
}

TEST_F(Files, ProfilesThereAndBack) {
  const PlantedProfile planted = plant({.phases = 3, .intervals = 200});
  const Profile profile = sample_profile(200, 110);
  for (const char* name : {"p.bb", "p.bb.gz", "p.bb.zst", "p.h5", "p.hdf5"}) {
    SCOPED_TRACE(name);
    const auto writer = ProfileWriter::open(path(name));
    for (size_t i = 0; i < 200; ++i) writer->add(profile.intervals[i], planted.intervals[i]);
    EXPECT_FALSE(fs::exists(path(name)));
    writer->finish(profile);
    const Read back = read(path(name));
    EXPECT_EQ(back.file.profile, profile);
    EXPECT_EQ(back.vectors, planted.intervals);
    EXPECT_EQ(back.file.vectors, 200u);
    EXPECT_THAT(back.file.warnings, IsEmpty());
  }
  EXPECT_LT(fs::file_size(path("p.bb.zst")), fs::file_size(path("p.bb")) / 2);
}

TEST_F(Files, WhatEndedARunIsInItsProfile) {
  Profile profile = sample_profile(3, 5);
  profile.ended_by = "signal 2";
  for (const char* name : {"p.bb", "p.bb.zst", "p.h5"}) {
    SCOPED_TRACE(name);
    const auto writer = ProfileWriter::open(path(name));
    for (const Interval& interval : profile.intervals) writer->add(interval, std::vector<Entry>{{1, 1003}});
    writer->finish(profile);
    const Read back = read(path(name));
    EXPECT_EQ(back.file.profile, profile);
    EXPECT_THAT(back.file.warnings, ElementsAre(HasSubstr(std::string(name) + ": signal 2 ended the run")));
  }
}

// Of one that is cut off anywhere the vectors that are whole, and a warning.
TEST_F(Files, AProfileWithoutItsEnd) {
  const PlantedProfile planted = plant({.intervals = 20});
  const Profile profile = sample_profile(20, 110);
  const auto writer = ProfileWriter::open(path("p.bb"));
  for (size_t i = 0; i < 20; ++i) writer->add(profile.intervals[i], planted.intervals[i]);
  writer->finish(profile);
  const std::string whole = contents(path("p.bb"));
  size_t most = 0;
  for (size_t at = whole.find("\nT") + 2; at < whole.size() - 1; at += 1 + at / 50) {
    const std::string cut = whole.substr(0, at);
    size_t vectors = 0;
    for (size_t t = cut.find("\nT"); t != cut.npos; t = cut.find("\nT", t + 1)) vectors += cut.find('\n', t + 1) != cut.npos;
    if (vectors == 0) {
      EXPECT_THAT(reading_error(file("cut.bb", cut)), HasSubstr("cut.bb: no line starts with T"));
      continue;
    }
    const Read r = read(file("cut.bb", cut));
    EXPECT_THAT(r.file.warnings, ElementsAre(HasSubstr(fmt::format("cut.bb: cut off behind {} vectors", vectors)))) << at;
    ASSERT_EQ(r.vectors.size(), vectors) << at;
    EXPECT_TRUE(std::equal(r.vectors.begin(), r.vectors.end(), planted.intervals.begin())) << at;
    EXPECT_EQ(r.file.profile.intervals.size(), vectors) << at;
    most = std::max(most, vectors);
  }
  EXPECT_EQ(most, 20u);
}

TEST_F(Files, AnUnfinishedProfileLeavesNothing) {
  for (const char* name : {"p.bb", "p.bb.zst", "p.h5"}) {
    ProfileWriter::open(path(name))->add({}, std::vector<Entry>{{1, 1}});
    EXPECT_TRUE(fs::is_empty(folder_)) << name;
  }
}

TEST_F(Files, CannotWrite) {
  for (const char* name : {"none/p.bb", "none/p.h5"}) EXPECT_THROW(ProfileWriter::open(path(name)), UserError);
  EXPECT_THROW(ByteWriter::open(folder_), UserError);
}

TEST_F(Files, OtherToolsText) {
  const std::string text =
      "# a comment\nBlock id: 2233 0x1:0x2 static instructions: 2 block count: 1 block size: 5\n"
      "T:1:20 :2:1.5   :7:3e2 \nM: 3 4\nT:5:1\r\n\nT :1:2:2:4\n";
  const Read r = read(file("a.bb", text));
  EXPECT_THAT(r.vectors, ElementsAre(std::vector<Entry>{{1, 20}, {2, 1.5}, {7, 300}}, std::vector<Entry>{{5, 1}},
                                     std::vector<Entry>{{1, 2}, {2, 4}}));
  EXPECT_TRUE(r.file.profile.intervals.empty());
  EXPECT_THAT(r.file.warnings, IsEmpty());
}

TEST_F(Files, WarnsOfWhatSimPointReadsDifferently) {
  EXPECT_THAT(read(file("a.bb", "T:1:1 \nT:2:2")).file.warnings,
              ElementsAre(HasSubstr("a.bb:2: the last line has no newline")));
  EXPECT_THAT(read(file("a.bb", "T:1:1 \nT\n")).file.warnings,
              ElementsAre(HasSubstr("a.bb:2: an empty vector at the end")));
  std::string line = "T";
  while (line.size() <= 1 << 20) line += ":1:1 ";
  EXPECT_THAT(read(file("a.bb", line + "\n")).file.warnings, ElementsAre(HasSubstr("a.bb:1: a line above 1 MiB")));
}

TEST_F(Files, WarnsOfAVectorThatDoesNotBeginWithT) {
  for (const char* before : {"\xef\xbb\xbf", "  "})
    EXPECT_THAT(read(file("a.bb", std::string(before) + "T:1:1 \nT:2:2 \n :3:3\n")).file.warnings,
                ElementsAre(HasSubstr("a.bb:1: `:id:count` in a line that does not begin with T")));
  EXPECT_THAT(read(file("a.bb", "Block id: 2233 0x40:0x41 static instructions: 2\nM: 401000 7 x:1\nT:2:2 \n")).file.warnings,
              IsEmpty());
}

TEST_F(Files, MalformedTextNamesLineAndColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"T:1:1\nT:0:1\n", "a.bb:2: column 3: expected the id"},
      {"T:x:1\n", "a.bb:1: column 3: expected the id"},
      {"T:-1:1\n", "column 3: expected the id"},
      {"T:99999999999:1\n", "column 3: expected the id"},
      {"T:1\n", "column 4: expected `:` and a count"},
      {"T:1:\n", "column 5: expected a count"},
      {"T:1:1x\n", "column 6: expected a space"},
      {"T:1:-4\n", "column 5: the count -4 makes no sense"},
      {"T:1:nan\n", "column 5: the count nan makes no sense"},
      {"T:1:inf\n", "column 5: the count inf makes no sense"},
      {"T:1:4 2:5\n", "column 7: expected `:id:count`"},
      {"T:1:1\nT\nT:1:1\n", "a.bb:3: a vector behind the empty one of line 2"},
      {"", "no frequency vector"},
      {"# simrun basic-block vectors, version 2\n", "a.bb:1: this version"},
      {"# simrun basic-block vectors, version 1\n# interval 1 start\n", "a.bb:2: interval 1 where 0"},
      {"# simrun basic-block vectors, version 1\n# interval 0 start x\n",
       "a.bb:2: a comment of simrun's without a number"},
      {"# simrun basic-block vectors, version 1\n# block 0 start x\n", "a.bb:2: blocks out of order"},
      {"# simrun basic-block vectors, version 1\n# kind funny\n", "a.bb:2: an unknown kind"},
      {"# simrun basic-block vectors, version 1\n# build-id 12 path /lib/x\n", "a.bb:2: a build id without a module"},
  };
  for (const auto& [text, message] : cases) EXPECT_THAT(reading_error(file("a.bb", text)), HasSubstr(message)) << text;
  EXPECT_THAT(reading_error(path("none.bb")), HasSubstr("No such file"));
  EXPECT_THAT(reading_error(folder_), HasSubstr("cannot read"));
}

TEST_F(Files, ErrorsOfTheConsumerGetTheLine) {
  Projector projector(15, 1);
  try {
    read_profile(file("a.bb", "T:1:4 \nT:1:0 \n"), [&](std::span<const Entry> entries) { projector.add(entries); });
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a.bb:2: interval 1: the sum of its vector is 0"));
  }
}

// Cut anywhere and with any byte changed: an error or other numbers, never a crash or a silent short read of what has a
// checksum or an end mark.
TEST_F(Files, DamagedCompressedFiles) {
  const PlantedProfile planted = plant({.intervals = 50});
  for (const char* name : {"p.bb.gz", "p.bb.zst", "p.h5"}) {
    const Profile profile = sample_profile(50, 110);
    const auto writer = ProfileWriter::open(path(name));
    for (size_t i = 0; i < 50; ++i) writer->add(profile.intervals[i], planted.intervals[i]);
    writer->finish(profile);
    const std::string whole = contents(path(name));
    Random random(3);
    for (int i = 0; i < 200; ++i) {
      const size_t at = random.next() % (whole.size() - 1);
      if (i % 2 == 0) {
        EXPECT_NE(reading_error(file(name, whole.substr(0, at))), "") << name << " cut at " << at;
      } else {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ (1 << random.next() % 8));
        reading_error(file(name, changed));
      }
    }
  }
}

TEST_F(Files, NoLineIsTooLongForSimPoint) {
  std::vector<Entry> entries;
  double sum = 0;
  for (uint32_t b = 1; b <= 120000; ++b) entries.push_back({b, 1e6 / b}), sum += 1e6 / b;
  size_t folded = 0;
  const std::string line = vector_line(entries, folded);
  EXPECT_GT(folded, 10000u);
  EXPECT_LE(line.size(), kLongestLine);
  const Read r = read(file("a.bb", line));
  ASSERT_EQ(r.vectors.size(), 1u);
  EXPECT_THAT(r.file.warnings, IsEmpty());
  double kept = 0;
  for (const Entry& entry : r.vectors[0]) kept += entry.count;
  EXPECT_NEAR(kept, sum, 1e-6 * sum);
  EXPECT_EQ(r.vectors[0].size(), entries.size() - folded + 1);
}

TEST_F(Files, Points) {
  const std::vector<SimulationPoint> points = {{12, 0, 0.25}, {7, 2, 0.7499999}, {3, 3, 1e-7}};
  EXPECT_EQ(points_text(points), "12 0\n7 2\n3 3\n");
  EXPECT_EQ(weights_text(points), "0.25 0\n0.75 2\n1e-07 3\n");
  EXPECT_EQ(coverage_suffix(0.95), ".lpt0.95");
  const auto back = read_points(file("p", points_text(points)), file("w", weights_text(points)));
  ASSERT_EQ(back.size(), 3u);
  EXPECT_EQ(back[1].interval, 7u);
  EXPECT_EQ(back[1].cluster, 2u);
  EXPECT_NEAR(back[1].weight, 0.75, 1e-6);

  const auto error = [&](const char* p, const char* w) -> std::string {
    try {
      read_points(file("p", p), file("w", w));
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(error("1 0\nx 1\n", "1 0\n"), HasSubstr("p:2: expected `<interval> <cluster>`"));
  EXPECT_THAT(error("1 0\n", "1\n"), HasSubstr("w:1: expected `<weight> <cluster>`"));
  EXPECT_THAT(error("1 0\n2 0\n", "1 0\n"), HasSubstr("p:2: cluster 0 for the second time"));
  EXPECT_THAT(error("1 0\n", "1 1\n"), HasSubstr("cluster 0 of"));
  EXPECT_THAT(error("1 0\n", "0.5 0\n0.5 1\n"), HasSubstr("1 clusters"));
  EXPECT_THAT(error("1 0\n", "-1 0\n"), HasSubstr("weighs -1"));
  EXPECT_THAT(error("1 0\n", "nan 0\n"), HasSubstr("weighs nan"));
  EXPECT_THAT(error("1 0\n", "0 0\n"), HasSubstr("sum to nothing"));
  EXPECT_THAT(error("", "1 0\n"), HasSubstr("nothing in it"));
}

TEST_F(Files, Labels) {
  Clustering c;
  c.labels = {1, 0};
  c.distances = {4, 0.25};
  EXPECT_EQ(labels_text(c, std::vector<double>{0.5, 0.5}, {}), "1 2\n0 0.5\n");
  // Two points for the first cluster, none for the third.
  c.centres = Points::Zero(3, 1);
  c.labels = {0, 1, 0, 0, 2, 0};
  c.distances.assign(6, 0.0);
  const std::vector<SimulationPoint> points = {{0, 0, 0.35}, {3, 0, 0.35}, {1, 1, 0.15}};
  EXPECT_EQ(labels_text(c, std::vector<double>(6, 1.0 / 6), points), "0 0\n2 0\n0 0\n1 0\n3 0\n1 0\n");
  // The one that stands for a part is in it.
  const std::vector<SimulationPoint> late = {{2, 0, 0.2}, {3, 0, 0.5}, {1, 1, 0.15}};
  EXPECT_EQ(labels_text(c, std::vector<double>(6, 1.0 / 6), late), "0 0\n2 0\n0 0\n1 0\n3 0\n1 0\n");
}

}  // namespace
}  // namespace simrun::simpoint
