// Machines from descriptions like the kernel's, in a directory of their own.
#include "configs/host_machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/user_error.h"

namespace simrun::configs {
namespace {

namespace fs = std::filesystem;

struct HostMachine : testing::Test {
  fs::path directory = fs::temp_directory_path() / ("simrun_host_machine_test." + std::to_string(getpid()));
  void SetUp() override { fs::create_directories(directory / "cpufreq"); }
  void TearDown() override { fs::remove_all(directory); }

  void add(int cpu, int index, const std::string& level, const std::string& type, const std::string& size,
           const std::string& ways, const std::string& shared) {
    const fs::path cache = directory / ("cpu" + std::to_string(cpu)) / "cache" / ("index" + std::to_string(index));
    fs::create_directories(cache);
    std::ofstream(cache / "level") << level << "\n";
    std::ofstream(cache / "type") << type << "\n";
    std::ofstream(cache / "size") << size << "\n";
    std::ofstream(cache / "ways_of_associativity") << ways << "\n";
    std::ofstream(cache / "coherency_line_size") << "64\n";
    std::ofstream(cache / "number_of_sets") << "64\n";
    std::ofstream(cache / "shared_cpu_list") << shared << "\n";
  }
  std::string error() {
    try {
      read_host_machine(directory.string());
    } catch (const UserError& e) {
      EXPECT_EQ(e.exit_status, 2);
      return e.what();
    }
    return "(accepted)";
  }
};

TEST_F(HostMachine, ThreadsOfOneCoreAreOneAndTwoClusters) {
  for (int cpu = 0; cpu < 16; ++cpu) {
    const int core = cpu % 8;
    const std::string siblings = std::to_string(core) + "," + std::to_string(core + 8);
    add(cpu, 0, "1", "Data", "48K", "12", siblings);
    add(cpu, 1, "1", "Instruction", "32K", "8", siblings);
    add(cpu, 2, "2", "Unified", "1280K", "20", siblings);
    add(cpu, 3, "3", "Unified", "16M", "16", core < 4 ? "0-3,8-11" : "4-7,12-15");
  }
  std::string warning;
  const sim::MachineConfig m = read_host_machine(directory.string(), &warning);
  EXPECT_EQ(warning, "");
  EXPECT_NE(m.description.find("; 16 processors, those that share a level 1 are one core"), std::string::npos) << m.description;
  EXPECT_EQ(m.cores, 8u);
  EXPECT_EQ(m.line_bytes, 64u);
  ASSERT_EQ(m.levels.size(), 3u);
  EXPECT_TRUE(m.levels[0].split);
  EXPECT_EQ(m.levels[0].data.size_bytes, 48u << 10);
  EXPECT_EQ(m.levels[0].instruction.ways, 8u);
  EXPECT_EQ(m.levels[0].cores_per_cache, 1u);
  EXPECT_EQ(m.levels[1].unified.size_bytes, 1280u << 10);
  EXPECT_EQ(m.levels[1].cores_per_cache, 1u);
  EXPECT_EQ(m.levels[2].cores_per_cache, 4u);
  EXPECT_EQ(m.levels[2].unified.size_bytes, 16u << 20);
}

// Performance cores of two threads, and a cluster of efficient ones.
TEST_F(HostMachine, CoresOfTwoKinds) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    const bool is_large = cpu < 4;
    const std::string siblings = cpu < 2 ? "0-1" : is_large ? "2-3" : std::to_string(cpu);
    add(cpu, 0, "1", "Data", is_large ? "48K" : "32K", is_large ? "12" : "8", siblings);
    add(cpu, 1, "2", "Unified", is_large ? "2M" : "4M", "16", is_large ? siblings : "4-7");
    add(cpu, 2, "3", "Unified", "36M", "12", "0-7");
  }
  std::string warning;
  const sim::MachineConfig m = read_host_machine(directory.string(), &warning);
  EXPECT_EQ(m.cores, 6u);
  EXPECT_EQ(m.levels[0].unified.size_bytes, 48u << 10);
  EXPECT_EQ(m.levels[1].unified.size_bytes, 2u << 20);
  EXPECT_EQ(m.levels[1].cores_per_cache, 1u);
  EXPECT_EQ(m.levels[2].cores_per_cache, 6u);
  EXPECT_EQ(warning, "processors 4-7 have other caches than processor 0: all cores have those of 0");
  EXPECT_NE(m.description.find(warning), std::string::npos) << m.description;
}

TEST_F(HostMachine, OneLevelIsSharedByOthersElsewhere) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    add(cpu, 0, "1", "Unified", "32K", "8", std::to_string(cpu));
    add(cpu, 1, "2", "Unified", "1M", "16", cpu < 4 ? "0-3" : cpu < 6 ? "4,5" : "6-7");
  }
  std::string warning;
  EXPECT_EQ(read_host_machine(directory.string(), &warning).levels[1].cores_per_cache, 4u);
  EXPECT_EQ(warning, "processors 4-7 have other caches than processor 0: all cores have those of 0");
}

TEST_F(HostMachine, ProcessorsThatAreOffLine) {
  for (const int cpu : {0, 1, 4}) {
    add(cpu, 0, "1", "Unified", "32K", "8", cpu == 1 ? "1,5" : "0,4");
    add(cpu, 1, "2", "Unified", "1M", "16", "0-7");
  }
  const sim::MachineConfig m = read_host_machine(directory.string());
  EXPECT_EQ(m.cores, 2u);
  EXPECT_EQ(m.levels[0].cores_per_cache, 1u);
  EXPECT_EQ(m.levels[1].cores_per_cache, 2u);
}

TEST_F(HostMachine, WaysThatTheKernelDoesNotSay) {
  add(0, 0, "1", "Unified", "32K", "0", "0");
  EXPECT_EQ(read_host_machine(directory.string()).levels[0].unified.ways, 8u);  // of 64 sets
}

TEST_F(HostMachine, NothingThere) {
  EXPECT_NE(error().find("describes no caches"), std::string::npos) << error();
  EXPECT_NE(error().find("machine file instead"), std::string::npos);
}

TEST_F(HostMachine, NotEnoughThere) {
  add(0, 0, "1", "Unified", "", "8", "0");
  EXPECT_NE(error().find("index0"), std::string::npos) << error();
}

TEST_F(HostMachine, ShapeThatNoFileCanSay) {
  add(0, 0, "1", "Unified", "32K", "7", "0");
  EXPECT_NE(error().find("cannot be simulated"), std::string::npos) << error();
}

TEST_F(HostMachine, ThisOneIsReadOrRefused) {
  try {
    EXPECT_GE(read_host_machine().cores, 1u);
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("machine file instead"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace simrun::configs
