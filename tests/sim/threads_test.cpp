// Where the system has no more threads, an error says so, and those that there are end.
#include <gtest/gtest.h>

#include <string>

#include "base/user_error.h"
#include "sim/parallel/model_sweep.h"
#include "sim/parallel/sliced_model.h"
#include "tests/sim/few_threads.h"
#include "tests/sim/machines.h"

namespace simrun::sim {
namespace {

template <class Make>
void expect_no_more_threads(Make make) {
  const test::FewThreads few(3);
  try {
    make();
    FAIL() << "as many threads as it wants";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("no more threads for the machine"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("--sim-threads"), std::string::npos) << error.what();
  }
}

TEST(Threads, ASlicedModelSaysThatThereAreNoMore) {
  const MachineConfig config = small_machine(1);
  expect_no_more_threads([&] { SlicedModel(config, 8); });
  SlicedModel(config, 4).statistics();
}

TEST(Threads, ASweepSaysThatThereAreNoMore) {
  const std::vector<MachineConfig> configs(16, small_machine(1));
  expect_no_more_threads([&] { ModelSweep(configs, 16); });
}

}  // namespace
}  // namespace simrun::sim
