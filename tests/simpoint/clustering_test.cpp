// The clustering against the slow and obvious one, against planted phases, and against itself with other threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/user_error.h"
#include "obvious.h"
#include "planted_phases.h"
#include "simpoint/bic.h"
#include "simpoint/choose_clustering.h"
#include "simpoint/normal_spread.h"
#include "simpoint/random.h"
#include "simpoint/simulation_points.h"

namespace simrun::simpoint {
namespace {

using ::testing::HasSubstr;

std::vector<double> random_weights(size_t n, uint64_t seed) {
  Random random(seed);
  std::vector<double> weights(n);
  for (double& w : weights) w = 0.1 + random.unit();
  return weights;
}

std::vector<double> equal_weights(size_t n) { return std::vector<double>(n, 1.0 / static_cast<double>(n)); }

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Random, IsFixedForEver) {
  // The first numbers of SplitMix64 from 1234567, as published with its reference implementation.
  EXPECT_EQ(random_at(1234567, 0), 6457827717110365317u);
  EXPECT_EQ(random_at(1234567, 1), 3203168211198807973u);
  EXPECT_EQ(random_at(1234567, 4), 16408922859458223821u);
}

TEST(Projection, EqualsTheExplicitMatrix) {
  const PlantedProfile profile = plant({.phases = 4, .intervals = 60, .noise = 0.3});
  const auto rows = obvious::project(profile.intervals, 15, 7);
  const ProjectedIntervals projected = project(profile, 15, 7);
  ASSERT_EQ(projected.size(), 60u);
  for (Eigen::Index i = 0; i < 60; ++i)
    for (Eigen::Index d = 0; d < 15; ++d) EXPECT_NEAR(projected.points(i, d), rows[i][d], 1e-12);
}

TEST(Projection, ElementsAreUniform) {
  double sum = 0, squares = 0, least = 1, most = -1;
  constexpr int kBlocks = 20000;
  for (uint32_t block = 1; block <= kBlocks; ++block)
    for (uint32_t d = 0; d < 15; ++d) {
      const double x = projection_element(1, block, d);
      sum += x, squares += x * x, least = std::min(least, x), most = std::max(most, x);
    }
  EXPECT_NEAR(sum / (15 * kBlocks), 0, 0.005);
  EXPECT_NEAR(squares / (15 * kBlocks), 1.0 / 3, 0.005);
  EXPECT_LT(least, -0.999);
  EXPECT_GT(most, 0.999);
}

TEST(Projection, RefusesWhatCannotBeNormalised) {
  Projector projector(15, 1);
  projector.add(std::vector<Entry>{{1, 5}});
  EXPECT_THAT(error_of([&] { projector.add(std::vector<Entry>{}); }), HasSubstr("interval 1: the sum"));
  EXPECT_THAT(error_of([&] { projector.add(std::vector<Entry>{{1, 0}}); }), HasSubstr("interval 1: the sum"));
  EXPECT_THAT(error_of([&] { projector.add(std::vector<Entry>{{1, -1}}); }), HasSubstr("block 1 has the count -1"));
  EXPECT_THAT(error_of([&] { projector.add(std::vector<Entry>{{2, NAN}}); }), HasSubstr("block 2 has the count nan"));
  EXPECT_THAT(error_of([&] { projector.add(std::vector<Entry>{{0, 3}}); }), HasSubstr("block 0"));
  EXPECT_THAT(error_of([&] { projector.add(std::vector<Entry>{{1, 1e308}, {2, 1e308}}); }), HasSubstr("sum"));
}

TEST(Projection, WithoutProjectionKeepsTheBlocks) {
  Projector projector(0, 1);
  projector.add(std::vector<Entry>{{1, 1}, {3, 3}});
  projector.add(std::vector<Entry>{{2, 5}});
  const ProjectedIntervals made = projector.finish();
  Points expected(2, 3);
  expected << 0.25, 0, 0.75, 0, 1, 0;
  EXPECT_EQ(made.points, expected);
  EXPECT_EQ(made.sums, (std::vector<double>{4, 5}));
}

// Only rows of blocks that occur are made: an id may be anything.
TEST(Projection, IdsNeedNotBeNearEachOther) {
  Projector projector(15, 1);
  projector.add(std::vector<Entry>{{4'294'967'295, 5}, {1, 5}});
  const ProjectedIntervals made = projector.finish();
  for (uint32_t d = 0; d < 15; ++d)
    EXPECT_NEAR(made.points(0, d), (projection_element(1, 4'294'967'295, d) + projection_element(1, 1, d)) / 2, 1e-15);
}

// Random points without structure are the hardest: many near ties, many iterations.
TEST(KMeans, EqualsTheObviousOne) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const auto n = static_cast<Eigen::Index>(20 + random.next() % 400),
               d = static_cast<Eigen::Index>(1 + random.next() % 15);
    Points points(n, d);
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j < d; ++j) points(i, j) = random.unit();
    const auto k = static_cast<uint32_t>(1 + random.next() % 15);
    const auto how = static_cast<Initialisation>(seed % 3);
    const std::vector<double> weights = random_weights(static_cast<size_t>(n), seed);
    const Points first = initial_centres(points, weights, k, how, seed);
    const Clustering fast = k_means(points, weights, first, 100, seed % 2 == 0);
    const obvious::Result slow = obvious::k_means(obvious::to_rows(points), weights, obvious::to_rows(first), 100);
    EXPECT_EQ(fast.labels, slow.labels) << "seed " << seed;
    EXPECT_NEAR(fast.distortion, slow.distortion, 1e-9 * slow.distortion);
    const double score = bic(fast, weights, total_distortion(points, weights));
    EXPECT_NEAR(score, slow.bic, 1e-9 * std::abs(slow.bic)) << "seed " << seed;
  }
}

TEST(KMeans, TiesGoToTheLowestCluster) {
  Points points(3, 1), centres(3, 1);
  points << 0, 1, 2;
  centres << 0, 2, 2;
  const Clustering made = assign(points, equal_weights(3), centres, false);
  EXPECT_EQ(made.labels, (std::vector<uint32_t>{0, 0, 1}));
}

TEST(KMeans, InitialCentresAreDifferentPointsWhereThereAreEnough) {
  const ProjectedIntervals p = project(plant({.phases = 6, .intervals = 300}));
  for (const auto how : {Initialisation::kSample, Initialisation::kFurthestFirst, Initialisation::kPlusPlus}) {
    const Points centres = initial_centres(p.points, equal_weights(300), 40, how, 5);
    std::set<double> first;
    for (Eigen::Index c = 0; c < centres.rows(); ++c) first.insert(centres(c, 0));
    EXPECT_EQ(first.size(), 40u);
  }
}

TEST(KMeans, FurthestFirstTakesTheFurthest) {
  Points points(4, 1);
  points << 0, 1, 10, 30;
  const Points centres = initial_centres(points, equal_weights(4), 4, Initialisation::kFurthestFirst, 3);
  for (Eigen::Index c = 1; c < 4; ++c) {
    const auto nearest = [&](double x, Eigen::Index of) {
      double best = INFINITY;
      for (Eigen::Index e = 0; e < of; ++e) best = std::min(best, std::abs(x - centres(e, 0)));
      return best;
    };
    for (Eigen::Index i = 0; i < 4; ++i) EXPECT_LE(nearest(points(i, 0), c), nearest(centres(c, 0), c));
  }
}

class PlantedPhases : public ::testing::TestWithParam<uint32_t> {};

// The number of phases, and every boundary, for every initialisation, both searches, fixed and variable lengths.
TEST_P(PlantedPhases, AreFound) {
  const uint32_t phases = GetParam();
  for (const double noise : {0.0, 0.05, 0.2})
    for (const auto how : {Initialisation::kSample, Initialisation::kFurthestFirst, Initialisation::kPlusPlus})
      for (const bool search : {true, false}) {
        // First centres drawn at random leave a phase out in nearly all tries when there are several (of 10, in 9996
        // of 10000): that is why this initialisation is not the default.
        if (how == Initialisation::kSample && phases > 3) continue;
        const PlantedProfile profile = plant({.phases = phases, .noise = noise, .seed = phases + 100});
        const ProjectedIntervals p = project(profile);
        const auto weights = interval_weights(p.sums, search);
        const ClusteringChoice choice = choose_clustering(
            p.points, weights, {.max_k = 15, .search = search, .initialisation = how, .seeds = search ? 5u : 10u});
        const Clustering& found = choice.clustering;
        SCOPED_TRACE(::testing::Message()
                     << "noise " << noise << " initialisation " << static_cast<int>(how) << " search " << search);
        ASSERT_EQ(found.k(), phases);
        for (size_t i = 1; i < profile.phase.size(); ++i)
          ASSERT_EQ(found.labels[i] == found.labels[i - 1], profile.phase[i] == profile.phase[i - 1])
              << "interval " << i;
      }
}

INSTANTIATE_TEST_SUITE_P(K, PlantedPhases, ::testing::Range(1u, 11u));

// A run of few intervals has phases, too.
TEST(Choice, PhasesOfFewIntervals) {
  for (const uint32_t phases : {1u, 2u, 4u})
    // Of fewer that are one phase BIC makes two at times.
    for (uint32_t intervals = phases == 1 ? 20 : 2 * phases; intervals <= 64; intervals += intervals < 20 ? 1 : 11)
      for (const bool search : {true, false}) {
        const PlantedProfile profile = plant({.phases = phases, .intervals = intervals, .stretch = 2, .noise = 0.02, .seed = intervals});
        const std::set<uint32_t> planted(profile.phase.begin(), profile.phase.end());
        const ProjectedIntervals p = project(profile);
        const ClusteringChoice choice = choose_clustering(p.points, interval_weights(p.sums, true), {.search = search});
        SCOPED_TRACE(::testing::Message() << phases << " phases, " << intervals << " intervals, search " << search);
        ASSERT_EQ(choice.clustering.k(), planted.size());
        for (size_t i = 1; i < intervals; ++i)
          ASSERT_EQ(choice.clustering.labels[i] == choice.clustering.labels[0], profile.phase[i] == profile.phase[0]) << "interval " << i;
        EXPECT_EQ(are_few_intervals(choice, {}), planted.size() > 1 && planted.size() == intervals / 2);
      }
}

TEST(Choice, SaysThatThereAreFewIntervals) {
  const PlantedProfile profile = plant({.phases = 10, .intervals = 10, .stretch = 1, .noise = 0});
  const ProjectedIntervals p = project(profile);
  const ClusteringChoice choice = choose_clustering(p.points, interval_weights(p.sums, true), {});
  EXPECT_LE(choice.examined.back().k(), 5u);
  EXPECT_EQ(are_few_intervals(choice, {}), choice.clustering.k() == 5);
  const ClusteringOptions as_simpoint{.least_gain = 0}, too_many{.ks = {3, 500}}, few{.ks = {3, 5}};
  EXPECT_EQ(greatest_k_lowered(choose_clustering(p.points, interval_weights(p.sums, true), too_many), too_many), 500u);
  EXPECT_EQ(greatest_k_lowered(choose_clustering(p.points, interval_weights(p.sums, true), few), few), 0u);
  EXPECT_EQ(choose_clustering(p.points, interval_weights(p.sums, true), as_simpoint).examined.back().k(), 10u);
}

TEST(Choice, SameAnswerWithAnyNumberOfThreads) {
  const ProjectedIntervals p = project(plant({.phases = 7, .intervals = 5000, .noise = 0.5}));
  const auto weights = interval_weights(p.sums, false);
  std::vector<ClusteringChoice> choices;
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 7, 64}) {
    omp_set_num_threads(threads);
    choices.push_back(choose_clustering(p.points, weights, {.max_k = 12}));
  }
  omp_set_num_threads(before);
  for (const ClusteringChoice& choice : choices) {
    ASSERT_EQ(choice.examined.size(), choices[0].examined.size());
    EXPECT_EQ(choice.chosen, choices[0].chosen);
    for (size_t i = 0; i < choice.examined.size(); ++i) {
      EXPECT_EQ(choice.examined[i].bic, choices[0].examined[i].bic);  // to the bit
      EXPECT_EQ(choice.examined[i].centres, choices[0].examined[i].centres);
    }
    EXPECT_EQ(choice.clustering.labels, choices[0].clustering.labels);
  }
}

// Said in other words they differ by the rounding of their sums, which is no phase.
TEST(Choice, EqualVectorsAreOnePhase) {
  Projector projector(15, 1);
  projector.add(std::vector<Entry>{{1, 5}, {1, 6}, {2, 3}, {3, 7}});
  projector.add(std::vector<Entry>{{1, 11}, {2, 3}, {3, 7}});
  projector.add(std::vector<Entry>{{3, 21}, {2, 9}, {1, 33}});
  const ProjectedIntervals p = projector.finish();
  EXPECT_FALSE(p.points.row(0) == p.points.row(1));
  for (const bool search : {true, false}) {
    const ClusteringChoice choice = choose_clustering(p.points, equal_weights(3), {.search = search, .least_gain = 0});
    EXPECT_EQ(choice.clustering.k(), 1u);
  }
}

TEST(Choice, TakesTheListedKs) {
  const ProjectedIntervals p = project(plant({.phases = 3, .intervals = 200}));
  const ClusteringChoice choice = choose_clustering(p.points, equal_weights(200), {.ks = {9, 2, 2, 5, 1000}});
  std::vector<uint32_t> ks;
  for (const auto& scored : choice.examined) ks.push_back(scored.k());
  EXPECT_EQ(ks, (std::vector<uint32_t>{2, 5, 9, 200}));
  std::vector<uint32_t> runs;
  for (const auto& scored : choice.examined) runs.push_back(scored.run);
  EXPECT_EQ(runs, (std::vector<uint32_t>{2, 3, 1, 4}));
}

TEST(Choice, FromItsOwnFirstCentresIsTheSame) {
  const ProjectedIntervals p = project(plant({.phases = 6, .intervals = 3000, .noise = 0.5}));
  const auto weights = interval_weights(p.sums, false);
  for (const uint64_t sample : {0u, 400u}) {
    const ClusteringChoice choice = choose_clustering(p.points, weights, {.max_k = 12, .sample = sample});
    const ScoredClustering& chosen = choice.examined[choice.chosen];
    const ClusteringChoice again =
        choose_clustering(p.points, weights, {.sample = sample, .first_centres = chosen.first_centres});
    ASSERT_EQ(again.examined.size(), 1u);
    EXPECT_EQ(again.examined[0].bic, chosen.bic);
    EXPECT_EQ(again.examined[0].centres, chosen.centres);
    EXPECT_EQ(again.clustering.labels, choice.clustering.labels);
    EXPECT_EQ(again.clustering.distances, choice.clustering.distances);
  }
}

// What is kept of a k is its centres: the intervals' labels would be thousands of times as much.
TEST(Choice, KeepsOfEachKWhatLabelsCanBeMadeOfAgain) {
  const ProjectedIntervals p = project(plant({.phases = 6, .intervals = 3000, .noise = 0.5}));
  const auto weights = interval_weights(p.sums, true);
  const ClusteringChoice choice = choose_clustering(p.points, weights, {.ks = {1, 3, 6, 9}});
  for (const ScoredClustering& scored : choice.examined) {
    const Clustering made = assign(p.points, weights, scored.centres, false);
    EXPECT_EQ(made.distortion, scored.distortion);
    EXPECT_EQ(bic(made, weights, total_distortion(p.points, weights)), scored.bic);
  }
}

TEST(Choice, ThresholdIsOfTheRange) {
  std::vector<ScoredClustering> examined(4);
  examined[0].bic = -100, examined[1].bic = -9, examined[2].bic = -10.1, examined[3].bic = 0;
  EXPECT_EQ(choose_by_threshold(examined, 0.9), 1u);
  EXPECT_EQ(choose_by_threshold(examined, 1.0), 3u);
  EXPECT_EQ(choose_by_threshold(examined, 0.0), 0u);
}

TEST(Choice, NoiseIsOnePhaseUnlessAskedAsSimPointDoes) {
  const ProjectedIntervals p = project(plant({.phases = 1, .noise = 0.05, .seed = 101}));
  const auto weights = interval_weights(p.sums, true);
  ClusteringOptions options{.max_k = 15, .initialisation = Initialisation::kSample};
  EXPECT_EQ(choose_clustering(p.points, weights, options).clustering.k(), 1u);
  options.least_gain = 0;
  EXPECT_GT(choose_clustering(p.points, weights, options).clustering.k(), 1u);
}

// Intervals of as many executions, drawn by chance from the blocks of a phase: a few blocks have most of them, as in
// programs, so the noise is longer in some directions than in others.
Points drawn_by_chance(uint32_t phases, uint32_t intervals, uint32_t executions, uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<double>> sums(phases);
  for (auto& sum : sums) {
    sum.resize(20 + random.next() % 40);
    double all = 0;
    for (double& s : sum) s = all += std::pow(1 - random.unit(), -1 / 1.2);  // Pareto
  }
  Projector projector(15, 2042712918);
  for (uint32_t i = 0; i < intervals; ++i) {
    const uint32_t phase = i / 15 % phases;
    const std::vector<double>& sum = sums[phase];
    std::vector<Entry> counts(sum.size());
    for (uint32_t b = 0; b < sum.size(); ++b) counts[b].block = 1 + 60 * phase + b;
    for (uint32_t e = 0; e < executions; ++e)
      ++counts[static_cast<size_t>(std::lower_bound(sum.begin(), sum.end() - 1, random.unit() * sum.back()) - sum.begin())].count;
    projector.add(counts);
  }
  return projector.finish().points;
}

TEST(Choice, NoiseThatIsLongerInSomeDirectionsIsOnePhaseToo) {
  uint32_t by_bic = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Points points = drawn_by_chance(1, 600, 3000, seed);
    const ClusteringChoice choice = choose_clustering(points, equal_weights(600), {});
    EXPECT_EQ(choice.clustering.k(), 1u) << "seed " << seed;
    by_bic += is_one_phase(choice.examined, 600, ClusteringOptions{}.least_gain);
  }
  EXPECT_LT(by_bic, 8u) << "nothing is tested";
}

TEST(Choice, PhasesAreFoundInNoiseThatIsLongerInSomeDirections) {
  for (uint32_t phases = 2; phases <= 10; ++phases) {
    const ClusteringChoice choice = choose_clustering(drawn_by_chance(phases, 600, 3000, phases), equal_weights(600), {});
    EXPECT_EQ(choice.clustering.k(), phases);
  }
}

TEST(NormalSpread, IsOfNoiseAndNotOfPhases) {
  for (const uint32_t intervals : {100u, 1000u})
    for (const double noise : {0.05, 0.2, 0.5})
      for (uint32_t phases = 1; phases <= 10; ++phases) {
        const auto p = project(plant({.phases = phases, .intervals = intervals, .stretch = 10, .noise = noise, .seed = phases}));
        EXPECT_EQ(is_spread_normally(p.points), phases == 1) << intervals << " intervals, noise " << noise << ", " << phases;
      }
}

// A phase that hardly ever comes, or has only so much of its time in other code: where BIC finds it, this does not say no.
TEST(NormalSpread, IsNotOfWhatBicFinds) {
  int found = 0;
  for (const uint32_t rare : {1u, 5u, 20u, 100u, 500u})
    for (const double other : {0.01, 0.03, 0.1, 0.3, 1.0})
      for (const double noise : {0.05, 0.2, 0.5}) {
        Points points = project(plant({.phases = 1, .intervals = 1000, .noise = noise})).points;
        const Points far = project(plant({.phases = 2, .intervals = 1000, .stretch = 500, .noise = noise, .seed = 2})).points;
        for (uint32_t i = 0; i < rare; ++i) points.row(2 * i) += other * (far.row(999 - i) - points.row(2 * i));
        const ClusteringChoice choice = choose_clustering(points, equal_weights(1000), {.ks = {1, 2, 3}, .seeds = 2});
        if (is_one_phase(choice.examined, 1000, ClusteringOptions{}.least_gain)) continue;
        ++found;
        EXPECT_GT(choice.clustering.k(), 1u) << rare << " of 1000, " << other << " in other code, noise " << noise;
      }
  EXPECT_GT(found, 20);
}

TEST(NormalSpread, IsNotSaidOfTooLittleOrTooMuch) {
  const Points noise = project(plant({.phases = 1, .intervals = 1000, .noise = 0.2})).points;
  EXPECT_TRUE(is_spread_normally(noise));
  EXPECT_FALSE(is_spread_normally(noise.topRows(kFewestForSpread - 1)));
  EXPECT_FALSE(is_spread_normally(Points::Constant(1000, 15, 0.25)));
  Points wide = Points::Zero(1000, kMostAxes + 1);
  wide.leftCols(15) = noise;
  EXPECT_FALSE(is_spread_normally(wide));
  EXPECT_TRUE(is_spread_normally(wide.leftCols(kMostAxes)));  // no spread in most directions
}

TEST(Choice, SampleFindsThePhasesOfAll) {
  const PlantedProfile profile = plant({.phases = 5, .intervals = 5000});
  const ProjectedIntervals p = project(profile);
  const ClusteringChoice choice =
      choose_clustering(p.points, interval_weights(p.sums, true), {.max_k = 12, .sample = 500});
  EXPECT_EQ(choice.clustering.k(), 5u);
  EXPECT_EQ(choice.clustering.labels.size(), 5000u);
  for (size_t i = 1; i < profile.phase.size(); ++i)
    ASSERT_EQ(choice.clustering.labels[i] == choice.clustering.labels[i - 1], profile.phase[i] == profile.phase[i - 1]);
}

TEST(Choice, DegenerateInputs) {
  Points same = Points::Constant(50, 3, 0.25);
  const ClusteringChoice choice = choose_clustering(same, equal_weights(50), {.max_k = 5});
  EXPECT_EQ(choice.clustering.k(), 1u);
  for (const auto& scored : choice.examined) EXPECT_TRUE(std::isfinite(scored.bic));
  const Points one = same.topRows(1);
  EXPECT_EQ(choose_clustering(one, equal_weights(1), {}).clustering.k(), 1u);
}

TEST(Choice, RefusesWhatMakesNoSense) {
  const Points points = Points::Random(4, 2);
  const auto weights = equal_weights(4);
  const auto error = [&](const ClusteringOptions& o) {
    return error_of([&] { choose_clustering(points, weights, o); });
  };
  EXPECT_THAT(error_of([&] { choose_clustering(Points(0, 2), {}, {}); }), HasSubstr("no interval"));
  EXPECT_THAT(error_of([&] { choose_clustering(points, std::vector<double>(3, 1.0), {}); }),
              HasSubstr("3 weights for 4"));
  EXPECT_THAT(error_of([&] {
                choose_clustering(points, std::vector<double>{1, 0, 1, 1}, {});
              }),
              HasSubstr("interval 1: weight 0"));
  EXPECT_THAT(error_of([&] {
                choose_clustering(points, std::vector<double>{1, 1, NAN, 1}, {});
              }),
              HasSubstr("interval 2: weight nan"));
  EXPECT_THAT(error({.max_k = 0}), HasSubstr("k 0"));
  EXPECT_THAT(error({.ks = {3, 0}}), HasSubstr("k 0"));
  EXPECT_THAT(error({.first_centres = Points::Zero(2, 3)}), HasSubstr("3 dimensions, the intervals have 2"));
  EXPECT_THAT(error({.first_centres = Points::Constant(2, 2, NAN)}), HasSubstr("not finite"));
  EXPECT_THAT(error({.seeds = 0}), HasSubstr("seeds"));
  EXPECT_THAT(error({.iterations = 0}), HasSubstr("iteration"));
  EXPECT_THAT(error({.threshold = 1.5}), HasSubstr("threshold 1.5"));
}

TEST(Points, NearestIsTakenAndTheEarliestOfEquals) {
  Clustering c;
  c.centres = Points::Zero(3, 1);
  c.labels = {0, 0, 0, 2, 2, 2};
  c.distances = {4, 1, 1, 9, 9, 16};
  const auto points = select_points(c, std::vector<double>{1, 1, 1, 1, 1, 5});
  EXPECT_EQ(points, (std::vector<SimulationPoint>{{1, 0, 0.3}, {3, 2, 0.7}}));
}

// What is left at the end of a run.
TEST(Points, AShortIntervalStandsForNoOthers) {
  Clustering c;
  c.centres = Points::Zero(2, 1);
  c.labels = {0, 0, 0, 0, 1};
  c.distances = {4, 9, 16, 0, 1};
  const auto points = select_points(c, std::vector<double>{1, 1, 1, 0.4, 0.1});
  EXPECT_EQ(points[0].interval, 0u);
  EXPECT_EQ(points[1].interval, 4u) << "alone";
  EXPECT_EQ(select_points(c, std::vector<double>{1, 1, 1, 0.5, 0.1})[0].interval, 3u);
}

// As pinpoints asks for it.
TEST(Points, OfThoseThatAreAlikeTheMiddleOne) {
  Clustering c;
  c.centres = Points::Zero(1, 1);
  c.labels = {0, 0, 0, 0, 0, 0};
  c.distances = {1, 1e-15, 0, 1e-14, 0, 1};
  const auto point = [&](SelectionOptions options) { return select_points(c, equal_weights(6), options)[0].interval; };
  EXPECT_EQ(point({.middle_of_equals = true}), 3u);
  EXPECT_EQ(point({}), 2u);
  c.distances = {4, 1, 1, 1, 1, 4};
  EXPECT_EQ(point({.early = 0.5, .middle_of_equals = true}), 1u) << "who wants early points gets them";
  c.distances = {1, 0, 0, 1, 4, 4};
  EXPECT_EQ(point({.middle_of_equals = true}), 2u) << "of two the later one";
}

TEST(Points, EarlyTakesOneThatIsGoodEnough) {
  Clustering c;
  c.centres = Points::Zero(1, 1);
  c.labels = {0, 0, 0, 0, 0};
  c.distances = {100, 4, 1, 9, 0};  // distances 10 2 1 3 0: median 2
  const auto weights = equal_weights(5);
  EXPECT_EQ(select_points(c, weights)[0].interval, 4u);
  EXPECT_EQ(select_points(c, weights, {.early = 0.5})[0].interval, 2u);
  EXPECT_EQ(select_points(c, weights, {.early = 1})[0].interval, 1u);
  // One that is to be avoided, while there are others.
  EXPECT_EQ(select_points(c, weights, {.avoided = {false, false, false, false, true}})[0].interval, 2u);
  EXPECT_EQ(select_points(c, weights, {.avoided = std::vector<bool>(weights.size(), true)})[0].interval, 4u);
}

// Four fifths of the phase are in the one to be avoided, and the centre is there.
TEST(Points, WhatIsFarFromTheCentreDoesNotStandForWhatIsAvoided) {
  Clustering c;
  c.centres = Points::Zero(1, 1);
  c.labels = {0, 0};
  c.distances = {16, 1};
  const std::vector<double> weights = {0.2, 0.8};
  const std::vector<bool> avoided = {false, true};
  EXPECT_EQ(select_points(c, weights, {.avoided = avoided})[0].interval, 1u);
  c.distances = {1, 1};
  EXPECT_EQ(select_points(c, weights, {.avoided = avoided})[0].interval, 0u);
}

// A tenth of the run, or more, in phases whose one point stands for what is not alike.
TEST(Points, MixedPhasesAreSaid) {
  const double kLength = projected_length(15);
  Clustering clustering;
  clustering.centres = Points(3, 1);
  clustering.labels = {0, 0, 1, 1, 2};
  clustering.distances = {0.0001, 0.0001, 0.01, 0.04, 0.09};  // squared
  const std::vector<double> weights = {0.4, 0.3, 0.1, 0.1, 0.1};
  const std::vector<SimulationPoint> one_each = {{0, 0, 0.7}, {2, 1, 0.2}, {4, 2, 0.1}};
  const std::string both = mixed_phases(clustering, weights, one_each, kLength);
  EXPECT_EQ(both.find("phases 1, 2 (30% of the run)"), 0u) << both;
  EXPECT_NE(both.find("--points"), std::string::npos);
  const std::vector<SimulationPoint> several = {{0, 0, 0.7}, {2, 1, 0.1}, {3, 1, 0.1}, {4, 2, 0.1}};
  EXPECT_EQ(mixed_phases(clustering, weights, several, kLength).find("phases 2 (10% of the run)"), 0u);
  EXPECT_EQ(mixed_phases(clustering, std::vector<double>{0.5, 0.41, 0.02, 0.02, 0.05}, one_each, kLength), "");
  clustering.distances = {0.0001, 0.0001, 0.0001, 0.0001, 0};
  EXPECT_EQ(mixed_phases(clustering, weights, one_each, kLength), "");
}

TEST(Points, CoverageKeepsTheHeaviest) {
  const std::vector<SimulationPoint> all = {{10, 0, 0.1}, {20, 1, 0.5}, {30, 2, 0.05}, {40, 3, 0.35}};
  EXPECT_EQ(cover(all, 1).size(), 4u);
  const auto covered = cover(all, 0.85);
  ASSERT_EQ(covered.size(), 2u);
  EXPECT_EQ(covered[0].cluster, 1u);
  EXPECT_NEAR(covered[0].weight, 0.5 / 0.85, 1e-12);
  EXPECT_EQ(covered[1].cluster, 3u);
  EXPECT_EQ(cover(all, 0.001).size(), 1u);
  EXPECT_THAT(error_of([&] { cover(all, 0); }), HasSubstr("coverage 0"));
}

}  // namespace
}  // namespace simrun::simpoint
