// What is predicted from regions that are not as long as in the profile.
#include "cli/phases/pinpoints_report.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "../sim/machines.h"
#include "base/user_error.h"
#include "cli/phases/pinpoints.h"
#include "sim/hierarchy.h"

namespace simrun::cli {
namespace {

// Of two threads, two intervals, each a phase of its own: all of the run is measured. All misses are in the first, which was
// 1000 instructions long in the profile of 2000, and `first` in the runs behind it.
Findings two_phases(double first) {
  Findings found;
  std::mt19937_64 random(1);
  found.machine = sim::random_usual_machine(random);
  found.profile.threads = 2;
  found.profile.instructions = 2000;
  found.profile.intervals = {{0, 1000, {{0x1000, "/bin/app", 0}, 1}}, {1000, 1000, {{0x2000, "/bin/app", 0x1000}, 1}}};
  found.labels = {0, 1};
  found.weights = {0.5, 0.5};
  const std::vector<simpoint::SimulationPoint> points = {{0, 0, 0.5}, {1, 1, 0.5}};
  found.plan = simpoint::plan_regions(found.profile, points, 0);
  simpoint::Counts with_misses = counts_of(found.machine, sim::Hierarchy(found.machine).statistics(), static_cast<uint64_t>(first));
  simpoint::Counts without = with_misses;
  for (size_t i = 1; i < with_misses.size(); ++i) with_misses[i] = 90;
  without[0] = 2000 - first;
  found.stretches = found.whole = found.stored = {with_misses, without};
  return found;
}

TEST(PinPointsReport, ARegionWeighsWhatItIsLongInTheRunItIsMeasuredIn) {
  for (const double first : {1000.0, 1400.0, 700.0})
    for (const auto& [name, figure] : make_report(two_phases(first)).document["figures"].items()) {
      SCOPED_TRACE(name + " " + std::to_string(first));
      EXPECT_NEAR(figure["error"].get<double>(), 0, 1e-9);
      EXPECT_NEAR(figure["warm_error"].get<double>(), 0, 1e-9);
      EXPECT_NEAR(figure["snapshot_error"].get<double>(), 0, 1e-9);
    }
}

// 0.5 MPKI for 0.25: a quarter of 1 is no quarter of the figure, and the table says which it is.
TEST(PinPointsReport, ErrorsOfSmallFiguresAreMarked) {
  Findings found = two_phases(1000);
  for (simpoint::Counts& stretch : found.whole) std::ranges::fill(stretch.begin() + 1, stretch.end(), 0.25);
  for (simpoint::Counts& stretch : found.stretches) std::ranges::fill(stretch.begin() + 1, stretch.end(), 0.5);
  const PinPointsReport report = make_report(found);
  const auto& misses = report.document["figures"]["L2 MPKI"];
  EXPECT_DOUBLE_EQ(misses["whole"].get<double>(), 0.25);
  EXPECT_DOUBLE_EQ(misses["relative_to"].get<double>(), 1);
  EXPECT_DOUBLE_EQ(misses["error"].get<double>(), 0.25);
  const std::string row = report.table.substr(report.table.find("\nL2 MPKI"));
  EXPECT_NE(row.substr(0, row.find('\n', 1)).find("25.00*"), std::string::npos) << report.table;
  EXPECT_EQ(make_report(two_phases(1000)).table.find("*  "), std::string::npos);
}

// The other was not found again: there is nothing to be weighed against.
TEST(PinPointsReport, AWeightOfWhatIsFoundIsAll) {
  Findings found = two_phases(1400);
  found.plan.regions[0].weight = 0.95, found.plan.regions[1].weight = 0.05;
  found.stretches[1][0] = 0;
  const auto document = make_report(found).document;
  EXPECT_EQ(document["lost"], nlohmann::json({2}));
  EXPECT_NEAR(document["figures"]["loads"]["predicted"].get<double>(), 100 * 90 / 1400.0, 1e-9);
}

// The first waits half of its time, all its misses are work: what it stands for is twice as much work.
TEST(PinPointsReport, WorkIsExtrapolatedByWhatIsCounted) {
  Findings found = two_phases(1000);
  found.profile.intervals[0].left_out = 500;
  found.weights = {1 / 3.0, 2 / 3.0};
  found.plan = simpoint::plan_regions(found.profile, std::vector<simpoint::SimulationPoint>{{0, 0, 2 / 3.0}, {1, 1, 1 / 3.0}}, 0);
  EXPECT_DOUBLE_EQ(found.plan.regions[0].multiplier, 2);
  EXPECT_DOUBLE_EQ(found.plan.regions[1].multiplier, 0.5);
  // 2 * 90 loads in 2000 instructions.
  EXPECT_NEAR(make_report(found).document["figures"]["loads"]["predicted"].get<double>(), 100 * 2 * 90 / 2000.0, 1e-9);
}

TEST(PinPointsReport, OtherWorkBetweenTheSameMarkersIsSaid) {
  const auto is_said = [](const Findings& found) {
    const auto remarks = make_report(found).document["remarks"].dump();
    return remarks.find("other work") != std::string::npos;
  };
  Findings found = two_phases(1000);
  EXPECT_FALSE(is_said(found));
  // One region for both intervals, which are not alike.
  found.plan.regions.resize(1);
  found.plan.regions[0].weight = 1;
  EXPECT_TRUE(is_said(found));
  found.profile.threads = 1;
  EXPECT_FALSE(is_said(found));
}

TEST(PinPointsReport, OthersOfItsPhaseStandForALostRegion) {
  // Four intervals, two phases; of each phase both intervals are regions. One is lost.
  Findings found = two_phases(1000);
  found.profile.instructions = 4000;
  found.profile.intervals = {{0, 1000, {}}, {1000, 1000, {}}, {2000, 1000, {}}, {3000, 1000, {}}};
  found.labels = {0, 0, 1, 1};
  found.weights = {0.25, 0.25, 0.25, 0.25};
  const std::vector<simpoint::SimulationPoint> points = {{0, 0, 0.25}, {1, 0, 0.25}, {2, 1, 0.25}, {3, 1, 0.25}};
  found.plan = simpoint::plan_regions(found.profile, points, 0);
  const auto misses = found.stretches[0], none = found.stretches[1];
  found.stretches = found.whole = found.stored = {misses, misses, none, none};
  found.stretches[3][0] = 0;
  const PinPointsReport report = make_report(found);
  const auto& document = report.document;
  EXPECT_EQ(document["lost"], nlohmann::json({4}));
  EXPECT_EQ(document["covered"], 1);
  EXPECT_EQ(document["measured"], 0.75);
  EXPECT_NE(report.table.find("\nregion 4 was not found again: the others of its phase stand for it\n"), std::string::npos) << report.table;
  EXPECT_NEAR(document["figures"]["loads"]["predicted"].get<double>(), document["figures"]["loads"]["whole"].get<double>(), 1e-9);
}

TEST(PinPointsReport, NothingIsKnownOfTheSpreadOfUnlikePhasesWithOneRegion) {
  Findings found = two_phases(1000);
  found.profile.instructions = 10'000;
  found.profile.intervals.assign(10, {0, 1000, {}});
  for (size_t i = 0; i < 10; ++i) found.profile.intervals[i].start = 1000 * i;
  found.labels.assign(10, 0);
  found.weights.assign(10, 0.1);
  std::vector<simpoint::SimulationPoint> points;
  for (uint32_t i = 0; i < 10; ++i) points.push_back({i, 0, 0.1});
  found.plan = simpoint::plan_regions(found.profile, points, 0);
  found.stretches = found.whole = std::vector<simpoint::Counts>(10, found.stretches[0]);
  found.stored.clear();
  const auto confidence = [&] { return make_report(found).document["figures"]["loads"]["confidence_95"]; };
  EXPECT_EQ(confidence(), 0);
  found.has_unknown_spread = true;
  EXPECT_TRUE(confidence().is_null());
}

// What is lost is in no part of the run that the report claims.
TEST(PinPointsReport, PartsOfTheRunAreWithoutWhatIsLost) {
  Findings found = two_phases(1000);
  found.plan.regions[0].weight = 0.95, found.plan.regions[1].weight = 0.05;
  found.covered = 0.8;
  const auto parts = [](const PinPointsReport& report) {
    const auto& d = report.document;
    return std::vector<double>{d["covered"], d["measured"], d["simulated"]};
  };
  EXPECT_EQ(parts(make_report(found)), (std::vector<double>{0.8, 1, 1}));
  found.stretches[1][0] = 0;
  const PinPointsReport report = make_report(found);
  EXPECT_EQ(parts(report), (std::vector<double>{0.8 * 0.95, 0.5, 0.5}));
  EXPECT_NE(report.table.find("\n1 region: 50.00% of 2000 instructions measured"), std::string::npos) << report.table;
  EXPECT_NE(report.table.find("\nregion 2 was not found again, nor any other of its phase, 4.00% of the run: figures are of the others\n"), std::string::npos)
      << report.table;
}

TEST(PinPointsReport, TooMuchThatIsNotFoundIsAnErrorThatSaysWhatToDo) {
  Findings found = two_phases(1400);
  check_regions_are_found(found);
  found.stretches[1][0] = 0;
  try {
    check_regions_are_found(found);
    FAIL() << "half of the run was not found";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("region 2 of the profile was not found again, and of phases that are 50% of the run none"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("--record"), std::string::npos);
  }
}

TEST(PinPoints, TheUsualWarmUpFillsTheLastLevelIfTheRunIsLongEnough) {
  sim::MachineConfig machine;
  machine.levels.resize(3);
  machine.levels.back().unified.size_bytes = 16 << 20;   // 262,144 lines
  constexpr uint64_t kInterval = 10'000'000, kFills = 262'144'000;
  EXPECT_EQ(usual_warm_up(machine, 1'000'000'000'000, kInterval, 30), kFills);
  EXPECT_EQ(usual_warm_up(machine, 20'000'000'000, kInterval, 20), 200'000'000u);   // a fifth of the run for all 20
  EXPECT_EQ(usual_warm_up(machine, 2'000'000'000, kInterval, 20), 5 * kInterval);
  machine.levels.back().unified.size_bytes = 1 << 20;
  EXPECT_EQ(usual_warm_up(machine, 1'000'000'000'000, kInterval, 30), 5 * kInterval);
  EXPECT_EQ(usual_warm_up(machine, 1'000'000'000'000, kInterval / 10, 30), kFills / 16);
  machine.levels.resize(1);
  machine.levels[0].split = true;
  machine.levels[0].instruction.size_bytes = machine.levels[0].data.size_bytes = 64;
  EXPECT_EQ(usual_warm_up(machine, 1'000'000'000, 100, 1), 2000u);
}

}  // namespace
}  // namespace simrun::cli
