// Matrices and weights there and back, in SimPoint 3.2's forms, and what is said of damaged ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/user_error.h"
#include "in_folder.h"
#include "planted_phases.h"
#include "simpoint/read_matrix.h"
#include "simpoint/write_matrix.h"

namespace simrun::simpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Matrices : public InFolder {
 protected:
  std::string file(const std::string& contents) const { return InFolder::file("file", contents); }
  template <class F>
  static std::string error_of(F&& f) {
    try {
      f();
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  std::string error_in(const std::string& contents, MatrixForm form = MatrixForm::kText) const {
    const std::string name = file(contents);
    return error_of([&] { read_matrix(name, form); });
  }
};

TEST_F(Matrices, AsSimPointWritesThem) {
  Points rows(2, 3);
  rows << 1, -0.5, 2, 0, 3, 1e-30;
  write_matrix(path("plain"), MatrixForm::kText, rows, {});
  EXPECT_EQ(contents(path("plain")), "2:\n3: 1 -0.5 2 \n3: 0 3 1.0000000000000001e-30 \n");
  write_matrix(path("weighted"), MatrixForm::kText, rows, std::vector<double>{0.25, 0.75});
  EXPECT_EQ(contents(path("weighted")), "2:w\n0.25 3: 1 -0.5 2 \n0.75 3: 0 3 1.0000000000000001e-30 \n");
  write_matrix(path("binary"), MatrixForm::kBinary, Points::Constant(1, 1, 1.0), std::vector<double>{0.5});
  EXPECT_EQ(contents(path("binary")),
            std::string("\1\0\0\0\1\0\0\0\0\0\0\0\0\0\xe0\x3f\1\0\0\0\0\0\0\0\0\0\xf0\x3f", 28));
}

TEST_F(Matrices, ComeBackToTheBit) {
  const ProjectedIntervals p = project(plant({.phases = 3, .intervals = 5000, .noise = 0.5}));
  for (const MatrixForm form : {MatrixForm::kText, MatrixForm::kBinary})
    for (const char* name : {"a", "a.gz", "a.zst"})
      for (const bool weighted : {false, true}) {
        write_matrix(path(name), form, p.points, weighted ? p.sums : std::vector<double>{});
        const MatrixFile back = read_matrix(path(name), form);
        EXPECT_EQ(back.rows, p.points);
        EXPECT_EQ(back.weights, weighted ? p.sums : std::vector<double>{});
      }
  write_weights(path("w"), std::vector<double>{1.0 / 3, 2.0 / 7});
  EXPECT_THAT(read_weights(path("w")), ElementsAre(1.0 / 3, 2.0 / 7));
}

TEST_F(Matrices, DamagedOnesAreRefusedWithThePlace) {
  EXPECT_THAT(error_in(""), HasSubstr("nothing in it"));
  EXPECT_THAT(error_in("2\n"), HasSubstr("file:1: `2` where a length and a colon"));
  EXPECT_THAT(error_in("0:\n"), HasSubstr("file:1: no row"));
  EXPECT_THAT(error_in("2:\n1: 5\n"), HasSubstr("file:2: ends behind 1 of 2 rows"));
  EXPECT_THAT(error_in("2:\n1: 5\n2: 5 6\n"), HasSubstr("file:3: a row of 2 elements"));
  EXPECT_THAT(error_in("1:\n2: 5\n"), HasSubstr("file:2: `` where a number"));
  EXPECT_THAT(error_in("1:\n1: 5 6\n"), HasSubstr("file:2: a row longer"));
  EXPECT_THAT(error_in("1:\n1: nan\n"), HasSubstr("file:2: `nan` where a number"));
  EXPECT_THAT(error_in("1:w\n1: 5\n"), HasSubstr("file:2: `1:` where a number"));
  write_matrix(path("whole"), MatrixForm::kBinary, Points::Constant(3, 2, 1.0), std::vector<double>{1, 2, 3});
  const std::string whole = contents(path("whole"));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(error_in(whole.substr(0, size), MatrixForm::kBinary), HasSubstr("cut off")) << size;
  EXPECT_THAT(error_in(whole + "x", MatrixForm::kBinary), HasSubstr("1 bytes behind 3 rows"));
  EXPECT_THAT(error_in("3:w\n1 2: 1 1\n", MatrixForm::kBinary), HasSubstr("no matrix in SimPoint's binary form"));
  EXPECT_THAT(error_of([&] { read_matrix(path("none"), MatrixForm::kBinary); }), HasSubstr("cannot read"));
}

TEST_F(Matrices, LabelsAndWeightsAreFirstWords) {
  EXPECT_THAT(read_first_words(file("a 0.5\n\n  b\na 3 4\n")), ElementsAre("a", "b", "a"));
  EXPECT_THAT(read_weights(file("2 0\n0.5\n")), ElementsAre(2, 0.5));
  for (const char* text : {"1\n0\n", "1\n-2\n"})
    EXPECT_THAT(error_of([&] { read_weights(file(text)); }), HasSubstr("file:2: the weight"));
  EXPECT_THAT(error_of([&] { read_weights(file("x\n")); }), HasSubstr("file:1: `x` where a number"));
  EXPECT_THAT(error_of([&] { read_first_words(file("\n")); }), HasSubstr("nothing in it"));
}

TEST_F(Matrices, AProjectionThatIsLoadedIsTheSameProjection) {
  const PlantedProfile profile = plant({.phases = 4, .intervals = 60, .noise = 0.3});
  Projector random(15, 7);
  for (const auto& interval : profile.intervals) random.add(interval);
  const Points matrix = random.matrix(random.largest_block());
  const ProjectedIntervals expected = random.finish();
  Projector given(matrix);
  for (int time = 0; time < 2; ++time) {  // finish() leaves the matrix
    for (const auto& interval : profile.intervals) given.add(interval);
    EXPECT_EQ(given.matrix(given.largest_block()), matrix);
    const ProjectedIntervals made = given.finish();
    EXPECT_EQ(made.points, expected.points);
    EXPECT_EQ(made.sums, expected.sums);
  }
  Projector small(Points(matrix.topRows(2)));
  EXPECT_THAT(error_of([&] {
                small.add(std::vector<Entry>{{3, 1}});
              }),
              HasSubstr("block 3, but the projection matrix"));
}

}  // namespace
}  // namespace simrun::simpoint
