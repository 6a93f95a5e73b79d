// Regions from points: warm-ups, overlaps, both files; what regions predict.
#include "simpoint/regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <regex>
#include <sstream>

#include "base/user_error.h"
#include "simpoint/prediction.h"
#include "simpoint/write_points.h"

namespace simrun::simpoint {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Ten intervals of 100 instructions, the last of 50.
Profile ten_intervals() {
  Profile profile;
  profile.command = "app";
  profile.threads = 1;
  profile.interval_length = 100;
  profile.instructions = 950;
  for (uint64_t i = 0; i < 10; ++i)
    profile.intervals.push_back({100 * i, i == 9 ? 50u : 100u, {{0x1000 + 16 * i, "/bin/app", 16 * i}, i + 1}});
  return profile;
}

TEST(Regions, WarmUpIsWholeIntervalsBefore) {
  const std::vector<SimulationPoint> points = {{5, 0, 1.0}};
  const RegionPlan plan = plan_regions(ten_intervals(), points, 150);
  ASSERT_EQ(plan.regions.size(), 1u);
  const Region& r = plan.regions[0];
  EXPECT_EQ(r.start, 500u);
  EXPECT_EQ(r.warm_up, 200u);
  EXPECT_EQ(r.warm_up_interval, 3u);
  EXPECT_EQ(r.end.place.offset, 96u);
  EXPECT_DOUBLE_EQ(r.multiplier, 9.5);
  EXPECT_THAT(plan.changes, ElementsAre(StageChange{3, Stage::kWarmUp}, StageChange{5, Stage::kMeasure},
                                        StageChange{6, Stage::kSkip}));
  EXPECT_TRUE(plan.remarks.empty());
}

TEST(Regions, ThoseThatTouchAndThoseBeforeTheStartAreSaid) {
  const std::vector<SimulationPoint> points = {{4, 2, 0.25}, {1, 0, 0.5}, {3, 1, 0.25}};
  const RegionPlan plan = plan_regions(ten_intervals(), points, 200);
  ASSERT_EQ(plan.regions.size(), 3u);
  EXPECT_EQ(plan.regions[0].interval, 1u);
  EXPECT_EQ(plan.regions[0].warm_up, 100u);
  EXPECT_EQ(plan.regions[2].warm_up, 200u);
  EXPECT_THAT(plan.changes, ElementsAre(StageChange{0, Stage::kWarmUp}, StageChange{1, Stage::kMeasure},
                                        StageChange{2, Stage::kWarmUp}, StageChange{3, Stage::kMeasure},
                                        StageChange{4, Stage::kMeasure}, StageChange{5, Stage::kSkip}));
  EXPECT_THAT(plan.remarks,
              ElementsAre(HasSubstr("region 1: less than 200"), HasSubstr("regions 2, 3: the warm-up holds")));
}

TEST(Regions, AWarmUpThatBeginsAmidAnothersIsAPartOfItsOwn) {
  const std::vector<SimulationPoint> points = {{4, 0, 0.5}, {5, 1, 0.5}};
  const RegionPlan plan = plan_regions(ten_intervals(), points, 300);
  EXPECT_THAT(plan.changes, ElementsAre(StageChange{1, Stage::kWarmUp}, StageChange{2, Stage::kWarmUp}, StageChange{4, Stage::kMeasure},
                                        StageChange{5, Stage::kMeasure}, StageChange{6, Stage::kSkip}));
}

TEST(Regions, TheSameIntervalTwiceIsOneRegion) {
  const std::vector<SimulationPoint> points = {{4, 0, 0.25}, {4, 1, 0.5}, {9, 2, 0.25}};
  const RegionPlan plan = plan_regions(ten_intervals(), points, 0);
  ASSERT_EQ(plan.regions.size(), 2u);
  EXPECT_DOUBLE_EQ(plan.regions[0].weight, 0.75);
  EXPECT_DOUBLE_EQ(plan.regions[0].multiplier, 0.75 * 9.5);
  EXPECT_EQ(plan.regions[1].end.count, 0u);  // the end of the program
  EXPECT_DOUBLE_EQ(plan.regions[1].multiplier, 0.25 * 950 / 50);
  EXPECT_THAT(plan.changes, ElementsAre(StageChange{4, Stage::kMeasure}, StageChange{5, Stage::kSkip},
                                        StageChange{9, Stage::kMeasure}));
  EXPECT_THAT(plan.remarks, ElementsAre(HasSubstr("clusters 0 and 1 have the same interval 4")));
}

TEST(Regions, PointsOfAnotherRunAndBareProfilesAreErrors) {
  const std::vector<SimulationPoint> points = {{10, 0, 1.0}};
  EXPECT_THROW(plan_regions(ten_intervals(), points, 0), UserError);
  EXPECT_THROW(plan_regions(Profile{}, points, 0), UserError);
}

TEST(Regions, FilesOfPinPoints) {
  Profile profile = ten_intervals();
  profile.intervals[5].executed_before = 17;
  profile.intervals[6].executed_before = 42;
  const std::vector<SimulationPoint> points = {{0, 0, 0.25}, {5, 1, 0.75}};
  const RegionPlan plan = plan_regions(profile, points, 100);
  EXPECT_EQ(icount_csv(plan, profile),
            "# regions of: app\n# warm-up is not in this form\n"
            "comment,thread-id,region-id,simulation-region-start-icount,simulation-region-end-icount,region-weight\n"
            "cluster 0 from slice 0,0,1,0,100,0.25\n"
            "cluster 1 from slice 5,0,2,501,600,0.75\n"
            "# Total instructions in 2 regions = 200\n# Total instructions in workload = 950\n");
  const std::string csv = pc_count_csv(plan, profile);
  EXPECT_THAT(csv, HasSubstr("\n# RegionId = 2 Slice = 5 Icount = 501 Length = 100 Weight = 0.75 Multiplier = 7.125\n"
                             "#Start: pc : 0x1050 image: /bin/app offset: 0x50 absolute_count: 6\n"
                             "#End: pc : 0x1060 image: /bin/app offset: 0x60 absolute_count: 7\n"
                             "cluster 1 from slice 5,0,2,0x1050,/bin/app,0x50,6,0x1060,/bin/app,0x60,7,43,100,0.75,7.125,"
                             "simulation\n"));
  EXPECT_THAT(csv, HasSubstr("\nWarmup for regionid 2,0,3,0x1040,/bin/app,0x40,5,0x1050,/bin/app,0x50,6,18,100,0,0,warmup:2\n"
                             "# Total instructions in 2 regions = 200\n# Total instructions in workload = 950\n"));
}

// As ParseClusterInfo and GetClusterInfo of PinPoints' util.py do, and what split.pc-csvfile.py demands.
TEST(Regions, PinPointsScriptsReadEveryLine) {
  Profile profile = ten_intervals();
  profile.intervals[4].begin.place = {0x7f0000001000, "", 0x7f0000001000};  // code made at run time
  profile.intervals[5].begin.process = "0.1x";
  profile.intervals[5].begin.thread = "0.1";
  const std::vector<SimulationPoint> points = {{4, 3, 0.00001}, {5, 0, 0.75}, {9, 1, 0.24999}};
  const RegionPlan plan = plan_regions(profile, points, 100);
  const std::string number = "-?[0-9]+\\.?[0-9]*([Ee]-?[0-9]+)?", marker = "0x[0-9a-f]+,[^\\s,]+,0x[0-9a-f]+,[0-9]+,";
  const std::string region = "[0-9]+,[0-9]+," + marker + marker + "[0-9]+,[0-9]+," + number + "," + number + ",";
  const std::regex simulated("cluster [0-9]+ from slice [0-9]+," + region + "simulation");
  const std::regex warm_up("Warmup for regionid [0-9]+," + region + "warmup:[0-9]+");
  std::istringstream lines(pc_count_csv(plan, profile));
  std::string kinds;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, simulated))
      kinds += 's';
    else if (std::regex_match(line, warm_up))
      kinds += 'w';
    else if (line.starts_with("# RegionId ="))
      kinds += 'r';
    else if (line.starts_with("#Start: pc"))
      kinds += 'b';
    else if (line.starts_with("#End: pc"))
      kinds += 'e';
    else
      EXPECT_TRUE(line.starts_with("#") || line.starts_with("comment,")) << line;
  }
  // A line of a region takes back what was known of its warm-up.
  EXPECT_EQ(kinds, "rbesrbesrbesrbewrbewrbew");
  EXPECT_THAT(pc_count_csv(plan, profile), AllOf(HasSubstr("\n# comment,thread-id,"), HasSubstr("\ncomment,thread-id,"),
                                                 HasSubstr(",0x0,[end],0x0,0,"), HasSubstr(",[anonymous],")));
  std::istringstream counts(icount_csv(plan, profile));
  const std::regex counted("cluster [0-9]+ from slice [0-9]+,[0-9]+,[0-9]+,[0-9]+,[0-9]+," + number);
  size_t regions = 0;
  for (std::string line; std::getline(counts, line);) regions += std::regex_match(line, counted);
  EXPECT_EQ(regions, 3u);
}

TEST(Regions, FilesSayWhichProcessAMarkerIsOf) {
  Profile profile = ten_intervals();
  for (size_t i = 4; i < 10; ++i) profile.intervals[i].begin.process = i < 6 ? "0.1x" : "0.2";
  const std::vector<SimulationPoint> points = {{4, 0, 0.5}, {5, 1, 0.5}};
  const std::string csv = pc_count_csv(plan_regions(profile, points, 100), profile);
  EXPECT_THAT(csv, HasSubstr("\n#Start: pc : 0x1030 image: /bin/app offset: 0x30 absolute_count: 4\n"
                             "#End: pc : 0x1040 image: /bin/app offset: 0x40 absolute_count: 5 process: 0.1x\n"
                             "Warmup for regionid 1,0,3,0x1030,"));
  EXPECT_THAT(csv, HasSubstr("absolute_count: 6 process: 0.1x\n"
                             "#End: pc : 0x1060 image: /bin/app offset: 0x60 absolute_count: 7 process: 0.2\n"
                             "cluster 1 from slice 5,0,2,0x1050,"));
}

TEST(Regions, AThreadsOwnCountsAreSaidAndHandOversAreKnown) {
  Profile profile = ten_intervals();
  for (size_t i = 4; i < 10; ++i) {
    profile.intervals[i].begin.thread = i < 6 ? "0" : "0.1";
    profile.intervals[i].begin.thread_count = 100 + i;
  }
  const std::vector<SimulationPoint> points = {{4, 0, 0.5}, {5, 1, 0.5}};
  const std::string csv = pc_count_csv(plan_regions(profile, points, 0), profile);
  EXPECT_THAT(csv, HasSubstr("\n#Start: pc : 0x1040 image: /bin/app offset: 0x40 absolute_count: 5 thread: 0 thread_count: 104\n"
                             "#End: pc : 0x1050 image: /bin/app offset: 0x50 absolute_count: 6 thread: 0 thread_count: 105\n"));
  EXPECT_THAT(csv, HasSubstr(" thread: 0.1 thread_count: 106\n"));
  EXPECT_THAT(intervals_that_change_hands(profile),
              ElementsAre(false, false, false, false, false, true, false, false, false, false));
}

TEST(Prediction, RatesAreWeighedWhateverTheLength) {
  // 1 miss in 10 instructions for a quarter of the run, 1 in 100 for the rest.
  const std::vector<Counts> regions = {{10, 1}, {1000, 10}};
  const std::vector<double> weights = {0.25, 0.75};
  const Counts predicted = predict(regions, weights);
  EXPECT_DOUBLE_EQ(predicted[0], 1);
  EXPECT_DOUBLE_EQ(predicted[1], 0.25 * 0.1 + 0.75 * 0.01);
  EXPECT_EQ(sum_of(regions), (Counts{1010, 11}));
  // Regions with fewer instructions than their like on average stand for less than all: how many there are is known.
  EXPECT_DOUBLE_EQ(predict(regions, std::vector<double>{0.2, 0.6})[0], 1);
  EXPECT_DOUBLE_EQ(predict(regions, std::vector<double>{0.2, 0.6})[1], 0.2 * 0.1 + 0.6 * 0.01);
}

// As LoopPoint's multipliers (Sabu et al., HPCA 2022, section III): by what is counted, of which threads that wait execute no more.
TEST(Regions, MultipliersAreOfWhatIsCounted) {
  Profile profile = ten_intervals();
  profile.intervals[5].left_out = 60;
  profile.intervals[7].left_out = 20;
  const std::vector<SimulationPoint> points = {{0, 0, 0.25}, {5, 1, 0.75}};
  const RegionPlan plan = plan_regions(profile, points, 0);
  EXPECT_DOUBLE_EQ(plan.regions[0].multiplier, 0.25 * (950 - 80) / 100);
  EXPECT_DOUBLE_EQ(plan.regions[1].multiplier, 0.75 * (950 - 80) / 40);
  EXPECT_DOUBLE_EQ(plan.regions[1].weight, 0.75);
}

TEST(Prediction, ARegionsOwnIntervalWeighsWhatItIsLong) {
  EXPECT_DOUBLE_EQ(weight_as_measured(0.25, 0.25, 100, 100), 0.25);
  EXPECT_DOUBLE_EQ(weight_as_measured(0.25, 0.25, 100, 120), 0.3);  // it stands for itself alone
  EXPECT_DOUBLE_EQ(weight_as_measured(0.5, 0.1, 100, 120), 0.52);   // and for others
  EXPECT_DOUBLE_EQ(weight_as_measured(0.1, 0.2, 100, 50), 0.05);    // other points stand for a part of it
}

TEST(Prediction, ConfidenceIsThatOfStrata) {
  // Two strata of weight 0.6 and 0.4: variance 2.5 and (one region only) the pooled one, 2.5; 4 degrees of freedom.
  const std::vector<double> values = {1, 2, 3, 4, 5, 10}, weights = {0.12, 0.12, 0.12, 0.12, 0.12, 0.4};
  const std::vector<uint32_t> clusters = {0, 0, 0, 0, 0, 1};
  EXPECT_NEAR(confidence_95(values, weights, clusters), 2.776 * std::sqrt(0.36 * 2.5 / 5 + 0.16 * 2.5), 0.02);
  EXPECT_LT(confidence_95(values, weights, std::vector<uint32_t>{0, 1, 2, 3, 4, 5}), 0);
  EXPECT_LT(confidence_95(values, weights, std::vector<uint32_t>{0, 0, 0, 0, 2, 1}), 0);   // 3 degrees of freedom
  const std::vector<double> others = {0.08, 0.08, 0.08, 0.08, 0.08, 0.6};
  EXPECT_LT(confidence_95(values, others, clusters), 0);   // most is in the stratum of which nothing is known
  std::vector<double> many;
  for (int k = 0; k < 1000; ++k) many.push_back(k % 2);
  EXPECT_NEAR(confidence_95(many, std::vector<double>(1000, 0.001), std::vector<uint32_t>(1000, 0)), 1.962 * std::sqrt(0.25 / 999), 1e-4);
}

TEST(Spread, HeavyClustersGetSeveralPointsOverTime) {
  Clustering c;
  c.centres = Points::Zero(3, 1);
  c.labels = {0, 0, 0, 0, 1, 0, 0, 0, 0, 2};
  c.distances.assign(10, 0.0);
  const std::vector<double> weights(10, 0.1);
  const std::vector<SimulationPoint> single = {{0, 0, 0.8}, {4, 1, 0.1}, {9, 2, 0.1}};
  const auto points = spread(c, weights, single, 5);
  EXPECT_THAT(points, ElementsAre(SimulationPoint{1, 0, 0.2}, SimulationPoint{3, 0, 0.2}, SimulationPoint{6, 0, 0.2},
                                  SimulationPoint{8, 0, 0.2}, single[1], single[2]));
  EXPECT_EQ(spread(c, weights, single, 1), single);
  EXPECT_EQ(spread(c, weights, single, 3), single);  // one for each phase are as many as were asked for
  EXPECT_EQ(spread(c, weights, single, 1000).size(), 10u);  // no interval twice
  EXPECT_EQ(points_text(points).substr(0, 8), "1 0\n3 1\n");
}

const double kLength = projected_length(15);

// Three phases, of 120, 40 and 40 in 200 intervals, each so far from its centre.
Clustering three_phases(size_t size, std::array<double, 3> distances) {
  Clustering c;
  c.centres = Points::Zero(3, 1);
  for (size_t i = 0; i < size; ++i) {
    c.labels.push_back(i % 5 < 3 ? 0 : i % 5 == 3 ? 1 : 2);
    c.distances.push_back(distances[c.labels[i]] * distances[c.labels[i]]);
  }
  return c;
}
const std::vector<SimulationPoint> kOneEach = {{0, 0, 0.6}, {3, 1, 0.2}, {4, 2, 0.2}};

std::array<size_t, 3> count_by_phase(const std::vector<SimulationPoint>& points) {
  std::array<size_t, 3> counts{};
  double sum = 0;
  for (const SimulationPoint& p : points) ++counts[p.cluster], sum += p.weight;
  EXPECT_NEAR(sum, 1, 1e-9);
  return counts;
}

TEST(Spread, PhasesThatAreNotAlikeGetPointsByWeightAndDistance) {
  const std::vector<double> weights(200, 1.0 / 200);
  // A twentieth of 200 are 10 points: one for the first phase, 9 for the others, of which 0.1 / (0.1 + 0.3) are the second's.
  EXPECT_THAT(count_by_phase(spread_mixed(three_phases(200, {0.01, 0.1, 0.3}), weights, kOneEach, kLength, 100)), ElementsAre(1, 2, 7));
  EXPECT_THAT(count_by_phase(spread_mixed(three_phases(200, {0.1, 0.1, 0.1}), weights, kOneEach, kLength, 100)), ElementsAre(6, 2, 2));
  EXPECT_EQ(spread_mixed(three_phases(200, {0.02, 0.02, 0.02}), weights, kOneEach, kLength, 100), kOneEach);
  EXPECT_THAT(count_by_phase(spread_mixed(three_phases(200, {0.01, 0.1, 0.3}), weights, kOneEach, kLength, 5)), ElementsAre(1, 1, 3));
  const std::vector<double> short_run(60, 1.0 / 60);
  EXPECT_EQ(spread_mixed(three_phases(60, {0.01, 0.1, 0.3}), short_run, kOneEach, kLength, 100), kOneEach);
  const std::vector<double> long_run(100'000, 1.0 / 100'000);
  EXPECT_THAT(count_by_phase(spread_mixed(three_phases(100'000, {0.01, 0.1, 0.3}), long_run, kOneEach, kLength, 100)), ElementsAre(1, 25, 74));
}

TEST(Spread, LittleThatIsNotAlikeIsLeft) {
  Clustering c = three_phases(200, {0.01, 0.01, 0.01});
  for (size_t i = 0; i < 80; i += 5) c.distances[i + 4] = 1;   // the mean of the third phase is mixed: a fifth of the run
  const std::vector<double> weights(200, 1.0 / 200);
  EXPECT_THAT(count_by_phase(spread_mixed(c, weights, kOneEach, kLength, 100)), ElementsAre(1, 1, 8));
  std::vector<double> light = weights;   // now a twentieth of it
  for (size_t i = 0; i < 200; ++i) light[i] *= c.labels[i] == 2 ? 0.05 / 0.2 : 0.95 / 0.8;
  EXPECT_EQ(spread_mixed(c, light, kOneEach, kLength, 100), kOneEach);
}

TEST(Spread, OneLongIntervalStandsForItsShare) {
  Clustering c;
  c.centres = Points::Zero(1, 1);
  c.labels = {0, 0, 0};
  c.distances.assign(3, 0.0);
  const std::vector<double> weights = {0.7, 0.1, 0.2};
  const std::vector<SimulationPoint> single = {{1, 0, 1.0}};
  const auto points = spread(c, weights, single, 3);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].interval, 0u);
  EXPECT_NEAR(points[0].weight, 2.0 / 3, 1e-12);
  EXPECT_EQ(points[1].interval, 2u);
}

TEST(Prediction, ErrorsOfWhatHardlyHappensAreRelativeToTheFloor) {
  EXPECT_NEAR(relative_error(1.1, 1.0, 0.1), 0.1, 1e-12);
  EXPECT_DOUBLE_EQ(relative_error(0.03, 0.01, 0.1), 0.2);
}

}  // namespace
}  // namespace simrun::simpoint
