#include "configs/sweep_machines.h"

#include <gtest/gtest.h>

#include "base/user_error.h"

namespace simrun::configs {
namespace {

std::string error_of(const std::vector<std::string>& configs, const std::vector<std::string>& sweeps) {
  try {
    sweep_machines(configs, sweeps);
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_status, 2);
    return error.what();
  }
  return "(accepted)";
}

std::string sweep_error(const std::vector<std::string>& sweeps) { return error_of({"l3_4core"}, sweeps); }

TEST(SweepMachines, EveryCombination) {
  const auto machines = sweep_machines({"l3_4core"}, {"L2.size=256KiB,512KiB,1MiB", "coherence=mesi,moesi"});
  ASSERT_EQ(machines.size(), 6u);
  EXPECT_EQ(machines[0].machine.levels[1].unified.size_bytes, 256u << 10);
  EXPECT_EQ(machines[5].machine.levels[1].unified.size_bytes, 1u << 20);
  EXPECT_EQ(machines[5].machine.coherence, sim::Coherence::kMoesi);
  EXPECT_EQ(machines[5].machine.levels[0].data.ways, 8u);
  EXPECT_EQ(machines[3].settings[0], (std::pair<std::string, std::string>("L2.size", "512KiB")));
  EXPECT_EQ(machines[3].settings[1].second, "moesi");
}

TEST(SweepMachines, KeysWithinKeys) {
  const auto machines = sweep_machines({"l3_4core"}, {"L1.data.ways=2,4,16", "core.cpi=0.25", "memory.latency=100"});
  ASSERT_EQ(machines.size(), 3u);
  EXPECT_EQ(machines[2].machine.levels[0].data.ways, 16u);
  EXPECT_EQ(machines[2].machine.levels[0].instruction.ways, 8u);
  EXPECT_EQ(machines[2].machine.core.cpi, 0.25);
  EXPECT_EQ(machines[2].machine.memory_latency, 100u);
}

TEST(SweepMachines, Mistakes) {
  EXPECT_NE(sweep_error({"L2.size"}).find("must be KEY=VALUE"), std::string::npos);
  EXPECT_NE(sweep_error({"L2.size=1MiB,,2MiB"}).find("must be KEY=VALUE"), std::string::npos);
  EXPECT_NE(sweep_error({"config=l3_4core,l3_8core"}).find("give --config for each machine"), std::string::npos);
  EXPECT_NE(sweep_error({"cores=2,4"}).find("same cores"), std::string::npos);
  EXPECT_NE(sweep_error({"L5.size=1MiB"}).find("no key 'L5.size' (levels: L1, L2, L3"), std::string::npos);
  EXPECT_NE(sweep_error({"L2.sise=1MiB"}).find("unknown key 'sise'"), std::string::npos);
  EXPECT_NE(sweep_error({"L2.ways=7"}).find("l3_4core with L2.ways=7: L2 of "), std::string::npos);  // no place in a text
  EXPECT_NE(sweep_error({"L2.replacement=best"}).find("'best'"), std::string::npos);
  std::string many = "memory.latency=1";
  for (int i = 2; i <= 2000; ++i) many += "," + std::to_string(i);
  EXPECT_NE(sweep_error({many}).find("2000 machines"), std::string::npos);
}

TEST(SweepMachines, OfSeveralFiles) {
  const auto machines = sweep_machines({"l3_4core", "l3_4core.yaml"}, {"L2.size=256KiB,512KiB"});
  ASSERT_EQ(machines.size(), 4u);
  using Settings = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(machines[1].settings, (Settings{{"config", "l3_4core"}, {"L2.size", "512KiB"}}));
  EXPECT_EQ(machines[2].settings, (Settings{{"config", "l3_4core.yaml"}, {"L2.size", "256KiB"}}));
  EXPECT_EQ(sweep_machines({"l3_4core", "l3_4core.yaml"}, {})[1].settings, (Settings{{"config", "l3_4core.yaml"}}));
  EXPECT_NE(error_of({"l3_4core", "l3_8core"}, {}).find("--config 'l3_8core' has 8 cores and lines of 64 bytes, 'l3_4core' 4 and 64"), std::string::npos);
  EXPECT_NE(error_of({"l3_4core", "l3_4core"}, {}).find("'l3_4core' is given twice"), std::string::npos);
  EXPECT_NE(error_of({"l3_4core", "l3_4core.yaml"}, {"L7.size=1MiB"}).find("l3_4core has no key 'L7.size'"), std::string::npos);
}

TEST(SweepMachines, AKeyIsSweptOnce) {
  EXPECT_NE(sweep_error({"L2.size=1MiB,256KiB,1MiB"}).find("1MiB is given twice"), std::string::npos);
  EXPECT_NE(sweep_error({"L2.latency=1,2", "L1.data.ways=4", "L2.latency=30,40"}).find("L2.latency is swept already"), std::string::npos);
}

TEST(SweepMachines, ListsAreNoValues) {
  for (const char* sweep : {"L2.prefetch=[{kind: stride}]", "L2.prefetch=[{kind: stride, degree: 2}]", "L1.data.prefetch=stride",
                            "tlb={walk_latency: 3}", "levels=1", "core=1,2"})
    EXPECT_NE(sweep_error({sweep}).find("only keys with a single value can be swept"), std::string::npos) << sweep_error({sweep});
  EXPECT_NE(sweep_error({"tlb.data.entries=32,64"}).find("l3_4core has no 'tlb'; a sweep changes what there is"), std::string::npos);
}

}  // namespace
}  // namespace simrun::configs
