// The strict reader: what it accepts, and one message for each kind of bad input.
#include "configs/read_machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/user_error.h"
#include "sim/hierarchy.h"

namespace simrun::configs {
namespace {

namespace fs = std::filesystem;

std::string error_of(const std::string& text) {
  try {
    parse_machine(text, "m.yaml");
  } catch (const UserError& e) {
    EXPECT_EQ(e.exit_status, 2);
    return e.what();
  }
  return "(accepted)";
}

const std::string kGood =
    "name: m\n"
    "cores: 4\n"
    "levels:\n"
    "  - name: L1\n"
    "    instruction: {size: 32KiB, ways: 8}\n"
    "    data: {size: 48 KiB, ways: 12, latency: 5}\n"
    "  - {name: L2, shared_by: 2, size: 1MiB, ways: 16}\n"
    "  - {name: L3, shared_by: chip, size: 8388608, ways: 16}\n";

TEST(ReadMachine, Good) {
  const sim::MachineConfig m = parse_machine(kGood, "m.yaml");
  EXPECT_EQ(m.cores, 4u);
  EXPECT_EQ(m.line_bytes, 64u);
  ASSERT_EQ(m.levels.size(), 3u);
  EXPECT_TRUE(m.levels[0].split);
  EXPECT_EQ(m.levels[0].cores_per_cache, 1u);
  EXPECT_EQ(m.levels[0].data, (sim::CacheShape{48 << 10, 12, 5}));
  EXPECT_EQ(m.levels[1].cores_per_cache, 2u);
  EXPECT_EQ(m.levels[1].unified, (sim::CacheShape{1 << 20, 16, 0}));
  EXPECT_EQ(m.levels[2].cores_per_cache, 4u);
  EXPECT_EQ(m.levels[2].unified.size_bytes, 8u << 20);
}

TEST(ReadMachine, ResolvedConfigurationReadsAsTheSameMachine) {
  const sim::MachineConfig m = parse_machine(kGood, "m.yaml");
  EXPECT_EQ(parse_machine(to_json(m).dump(2), "m.json"), m);
}

TEST(ReadMachine, NameDefaultsToTheFile) {
  EXPECT_EQ(parse_machine("cores: 1\nlevels: [{name: L1, size: 4096, ways: 4}]", "/x/tiny.yaml").name, "tiny");
}

TEST(ReadMachine, MachinesThatComeWithSimrunCanBeSimulated) {
  size_t machines = 0;
  for (const auto& entry : fs::directory_iterator(MACHINES)) {
    SCOPED_TRACE(entry.path());
    const sim::MachineConfig m = read_machine(entry.path().string());
    EXPECT_EQ(m.name, entry.path().stem());
    EXPECT_FALSE(m.description.empty());
    EXPECT_EQ(sim::Hierarchy(m).cores(), m.cores);
    ++machines;
  }
  EXPECT_GE(machines, 3u);
  const sim::MachineConfig m = read_machine(std::string(MACHINES) + "/l3_8core.yaml");
  EXPECT_EQ(m.cores, 8u);
  EXPECT_EQ(m.levels[2].unified.size_bytes, 16u << 20);
}

struct BadInput {
  const char* name;
  const char* text;
  const char* position;                // "line:column"
  std::vector<const char*> fragments;  // all must be in the message
};

void PrintTo(const BadInput& input, std::ostream* out) { *out << input.name; }

class ReadMachineErrors : public testing::TestWithParam<BadInput> {};

TEST_P(ReadMachineErrors, SaysWhereAndWhy) {
  const std::string error = error_of(GetParam().text);
  const std::string start =
      *GetParam().position == 0 ? "m.yaml: " : std::string("m.yaml:") + GetParam().position + ": ";
  EXPECT_EQ(error.substr(0, start.size()), start) << error;
  for (const char* fragment : GetParam().fragments) EXPECT_NE(error.find(fragment), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << "one line: " << error;
}

#define L1 "levels:\n  - {name: L1, size: 32KiB, ways: 8}\n"

// clang-format off
const BadInput kBadInputs[] = {
    {"Empty", "", "", {"empty"}},
    {"OnlyComments", "# nothing\n", "", {"empty"}},
    {"NotAMapping", "- 1\n- 2\n", "1:1", {"must be a mapping", "list"}},
    {"BrokenYaml", "cores: 4\nlevels: [\n", "3:1", {"not valid YAML"}},
    {"Tab", "cores: 4\nlevels:\n\t- a\n", "3:2", {"not valid YAML"}},
    {"TwoDocuments", "cores: 1\n---\ncores: 2\n", "3:1", {"second document"}},
    {"UnknownKey", "cores: 4\nlevles: []\n", "2:1", {"unknown key 'levles'", "'levels'"}},
    {"UnknownLevelKey", "cores: 4\nlevels:\n  - name: L1\n    asociativity: 8\n", "4:5", {"unknown key 'asociativity'", "level 1"}},
    {"UnknownShapeKey", "cores: 4\nlevels:\n  - name: L1\n    instruction: {size: 1KiB, way: 8}\n    data: {}\n", "4:31", {"'way'", "did you mean 'ways'"}},
    {"DuplicateKey", "cores: 4\ncores: 8\n" L1, "2:1", {"'cores'", "twice"}},
    {"DuplicateLevelKey", "cores: 4\nlevels:\n  - {name: L1, size: 32KiB, ways: 8, ways: 4}\n", "3:38", {"'ways'", "twice"}},
    {"MissingCores", L1, "1:1", {"lacks the key 'cores'"}},
    {"MissingLevels", "cores: 4\n", "1:1", {"lacks the key 'levels'"}},
    {"MissingSize", "cores: 4\nlevels:\n  - {name: L1, ways: 8}\n", "3:5", {"level 1 lacks the key 'size'"}},
    {"MissingName", "cores: 4\nlevels:\n  - {size: 32KiB, ways: 8}\n", "3:5", {"lacks the key 'name'"}},
    {"MissingHalf", "cores: 4\nlevels:\n  - name: L1\n    data: {size: 32KiB, ways: 8}\n", "3:5", {"lacks the key 'instruction'"}},
    {"SizeBesideHalves", "cores: 4\nlevels:\n  - name: L1\n    size: 32KiB\n    data: {size: 32KiB, ways: 8}\n", "4:11", {"L1 is split"}},
    {"CoresNotANumber", "cores: four\n" L1, "1:8", {"'cores'", "'four'", "whole number"}},
    {"CoresNegative", "cores: -4\n" L1, "1:8", {"'-4'"}},
    {"CoresFraction", "cores: 1.5\n" L1, "1:8", {"'1.5'"}},
    {"CoresHuge", "cores: 99999999999\n" L1, "1:8", {"99999999999", "more than"}},
    {"CoresList", "cores: [4]\n" L1, "1:8", {"a list"}},
    {"CoresNothing", "cores:\n" L1, "1:1", {"'cores'", "nothing"}},
    {"CoresZero", "cores: 0\n" L1, "1:8", {"0 cores", "4096"}},
    {"CoresTooMany", "cores: 5000\n" L1, "1:8", {"5000 cores"}},
    {"LevelsNotAList", "cores: 4\nlevels: {name: L1}\n", "2:9", {"must be a list"}},
    {"LevelsEmpty", "cores: 4\nlevels: []\n", "2:9", {"no cache level"}},
    {"LevelNotAMapping", "cores: 4\nlevels: [L1, L2]\n", "2:10", {"level 1 must be a mapping", "a value"}},
    {"SizeUnit", "cores: 4\nlevels:\n  - {name: L1, size: 32KB, ways: 8}\n", "3:22", {"unknown unit 'KB'", "did you mean 'KiB'"}},
    {"SizeWord", "cores: 4\nlevels:\n  - {name: L1, size: big, ways: 8}\n", "3:22", {"'big'", "32KiB"}},
    {"SizeFraction", "cores: 4\nlevels:\n  - {name: L1, size: 0.3KiB, ways: 8}\n", "3:22", {"no whole number of bytes"}},
    {"SizeNegative", "cores: 4\nlevels:\n  - {name: L1, size: -1KiB, ways: 8}\n", "3:22", {"-1KiB"}},
    {"SizeZero", "cores: 4\nlevels:\n  - {name: L1, size: 0, ways: 8}\n", "3:22", {"size 0"}},
    {"SizeBelowOneSet", "cores: 4\nlevels:\n  - {name: L1, size: 256, ways: 8}\n", "3:22", {"256 bytes", "8 ways x 64-byte lines = 512"}},
    {"SizeNoMultiple", "cores: 4\nlevels:\n  - {name: L1, size: 32KiB, ways: 7}\n", "3:22", {"32768", "7 x 64 = 448", "32704", "33152"}},
    {"SizeTooLarge", "cores: 4\nlevels:\n  - {name: L1, size: 64GiB, ways: 8}\n", "3:22", {"64 GiB", "at most"}},
    {"SizeAbsurd", "cores: 4\nlevels:\n  - {name: L1, size: 99999999999GiB, ways: 8}\n", "3:22", {"too large"}},
    {"WaysZero", "cores: 4\nlevels:\n  - {name: L1, size: 32KiB, ways: 0}\n", "3:35", {"0 ways"}},
    {"WaysTooMany", "cores: 4\nlevels:\n  - {name: L1, size: 32KiB, ways: 512}\n", "3:35", {"512 ways", "126"}},
    {"LineNoPowerOfTwo", "cores: 4\nline: 48\n" L1, "2:7", {"48 bytes", "power of two"}},
    {"SharedByWord", "cores: 4\nlevels:\n  - {name: L1, shared_by: all, size: 32KiB, ways: 8}\n", "3:27", {"private, chip", "'all'"}},
    {"SharedByTooMany", "cores: 4\nlevels:\n  - {name: L1, shared_by: 8, size: 32KiB, ways: 8}\n", "3:27", {"8 cores", "has 4"}},
    {"SharedByDoesNotDivide", "cores: 4\nlevels:\n  - {name: L1, shared_by: 3, size: 32KiB, ways: 8}\n", "3:27", {"3 cores", "does not divide", "4"}},
    {"SharedByShrinks", "cores: 4\nlevels:\n  - {name: L1, shared_by: 4, size: 32KiB, ways: 8}\n  - {name: L2, shared_by: 2, size: 64KiB, ways: 8}\n", "4:27", {"L2", "2 cores", "no multiple of the 4"}},
    {"SmallerThanWhatItIncludes", "cores: 4\nlevels:\n  - {name: L1, size: 32KiB, ways: 8}\n  - {name: L2, size: 16KiB, ways: 8}\n", "4:22", {"L2 of 16 KiB", "L1 of 32 KiB", "include"}},
    {"SmallerThanWhatItIncludesFurtherAbove", "cores: 1\nlevels:\n  - {name: L1, size: 64KiB, ways: 8}\n  - {name: L2, size: 32KiB, ways: 8, inclusion: non-inclusive}\n  - {name: L3, size: 32KiB, ways: 8}\n", "5:22", {"L3 of 32 KiB", "than one L1 of 64 KiB", "include"}},
    {"SmallerThanAnExclusiveOneAndThatAbove", "cores: 1\nlevels:\n  - {name: L1, size: 64KiB, ways: 8}\n  - {name: L2, size: 32KiB, ways: 8, inclusion: exclusive}\n  - {name: L3, size: 64KiB, ways: 8}\n", "5:22", {"L3 of 64 KiB", "one L2 of 32 KiB and one L1 of 64 KiB", "include"}},
    {"SmallerThanAnExclusiveOneAndAHalf", "cores: 1\nlevels:\n  - {name: L1, instruction: {size: 16KiB, ways: 8}, data: {size: 32KiB, ways: 8}}\n  - {name: L2, size: 16KiB, ways: 8, inclusion: exclusive}\n  - {name: L3, size: 32KiB, ways: 8}\n", "5:22", {"L3 of 32 KiB", "one L2 of 16 KiB and one L1 data of 32 KiB", "include"}},
    {"SplitBelowUnified", "cores: 4\nlevels:\n  - {name: L1, size: 1KiB, ways: 8}\n  - {name: L2, instruction: {size: 4KiB, ways: 8}, data: {size: 4KiB, ways: 8}}\n", "4:29", {"split below the unified L1"}},
    {"NameOfAHalf", "cores: 4\nlevels:\n  - {name: L1, instruction: {size: 1KiB, ways: 8}, data: {size: 1KiB, ways: 8}}\n  - {name: L1D, size: 4KiB, ways: 8}\n", "4:12", {"two levels are named L1D"}},
    {"NameOfMemory", "cores: 4\nlevels:\n  - {name: memory, size: 1KiB, ways: 8}\n", "3:12", {"cannot be named memory"}},
    {"NameWithSlash", "cores: 4\nlevels:\n  - {name: L1/D, size: 1KiB, ways: 8}\n", "3:12", {"letters, digits", "L1/D"}},
    {"NoUtf8", "description: \"x\xfe\"\ncores: 4\nlevels:\n  - {name: L1, size: 1KiB, ways: 8}\n", "1:14", {"'description'", "UTF-8"}},
    {"SameName", "cores: 4\nlevels:\n  - {name: L1, size: 1KiB, ways: 8}\n  - {name: L1, size: 1KiB, ways: 8}\n", "4:12", {"two levels are named L1"}},
    {"Replacement", "cores: 4\nlevels:\n  - {name: L1, size: 1KiB, ways: 8, replacement: plru}\n", "3:50", {"'plru'", "tree-plru"}},
    {"Coherence", "cores: 4\ncoherence: mosi\n" L1, "2:12", {"'mosi'", "mesi"}},
    {"Requests", "cores: 4\nrequests: broadcast\n" L1, "2:11", {"'broadcast'", "snooping"}},
    {"InclusionOfLevel1", "cores: 4\nlevels:\n  - {name: L1, size: 1KiB, ways: 8, inclusion: exclusive}\n", "3:48", {"L1 is the level nearest the core", "leave 'inclusion' out"}},
    {"WriteThroughBelowWriteBack", "cores: 4\nlevels:\n  - {name: L1, size: 1KiB, ways: 8}\n  - {name: L2, size: 1KiB, ways: 8, write: write-through}\n", "4:44", {"L2 is write-through", "L1 above it is write-back"}},
    {"ExclusiveBelowWriteThrough", "cores: 4\nlevels:\n  - {name: L1, size: 1KiB, ways: 8, write: write-through}\n  - {name: L2, size: 1KiB, ways: 8, inclusion: exclusive}\n", "4:48", {"L2 must be inclusive", "L1", "write: write-through"}},
    {"NonInclusiveBelowNoAllocate", "cores: 4\nlevels:\n  - {name: L1, size: 1KiB, ways: 8, write_miss: no-allocate}\n  - {name: L2, size: 1KiB, ways: 8, inclusion: non-inclusive}\n", "4:48", {"L2 must be inclusive", "write_miss: no-allocate"}},
    {"TooManyLevels", "cores: 1\nlevels: [{name: a, size: 64, ways: 1}, {name: b, size: 64, ways: 1}, {name: c, size: 64, ways: 1}, {name: d, size: 64, ways: 1}, {name: e, size: 64, ways: 1}, {name: f, size: 64, ways: 1}, {name: g, size: 64, ways: 1}, {name: h, size: 64, ways: 1}, {name: i, size: 64, ways: 1}]\n", "2:9", {"9 cache levels", "at most 8"}},
    {"CpiWord", "cores: 4\ncore: {cpi: fast}\n" L1, "2:13", {"'cpi'", "'fast'", "0.25"}},
    {"CpiNegative", "cores: 4\ncore: {cpi: -1}\n" L1, "2:13", {"'-1'"}},
    {"ExposedTooLarge", "cores: 4\ncore: {read_exposed: 1.5}\n" L1, "2:22", {"'read_exposed'", "1.5", "0 to 1"}},
    {"CoreKey", "cores: 4\ncore: {cip: 1}\n" L1, "2:8", {"'cip'", "did you mean 'cpi'"}},
    {"PageNoPowerOfTwo", "cores: 4\npage: 5000\n" L1, "2:7", {"5000 bytes", "power of two"}},
    {"Addresses", "cores: 4\naddresses: real\n" L1, "2:12", {"'real'", "first-touch"}},
    {"TlbWithoutData", "cores: 4\ntlb: {instruction: {entries: 8, ways: 8}}\n" L1, "2:6", {"tlb lacks the key 'data'"}},
    {"TlbWays", "cores: 4\ntlb: {instruction: {entries: 8, ways: 3}, data: {entries: 8, ways: 8}}\n" L1, "2:20", {"instruction TLB", "8 entries", "3 ways"}},
    {"TlbKey", "cores: 4\ntlb: {l2: 3}\n" L1, "2:7", {"'l2'", "in tlb"}},
    {"PrefetchNotAList", "cores: 4\nlevels:\n  - {name: L1, size: 1KiB, ways: 8, prefetch: stream}\n", "3:47", {"must be a list"}},
    {"PrefetchKind", "cores: 4\nlevels:\n  - {name: L1, size: 1KiB, ways: 8, prefetch: [{kind: magic}]}\n", "3:55", {"'magic'", "next-line"}},
    {"PrefetchWithoutKind", "cores: 4\nlevels:\n  - {name: L1, size: 1KiB, ways: 8, prefetch: [{degree: 2}]}\n", "3:48", {"lacks the key 'kind'"}},
    {"PrefetchDegree", "cores: 4\nlevels:\n  - {name: L1, size: 1KiB, ways: 8, prefetch: [{kind: stream, degree: 0}]}\n", "3:47", {"degree 0"}},
    {"PrefetchIntoExclusive", "cores: 4\nlevels:\n  - {name: L1, size: 1KiB, ways: 8}\n  - {name: L2, size: 2KiB, ways: 8, inclusion: exclusive, prefetch: [{kind: stream}]}\n", "4:69", {"L2 is exclusive", "prefetch there"}},
    {"MemoryKey", "cores: 4\nmemory: {lat: 3}\n" L1, "2:10", {"'lat'", "did you mean 'latency'"}},
};

// clang-format on

INSTANTIATE_TEST_SUITE_P(BadInputs, ReadMachineErrors, testing::ValuesIn(kBadInputs),
                         [](const auto& input) { return std::string(input.param.name); });

// Files and names.
struct FindMachine : testing::Test {
  fs::path directory = fs::temp_directory_path() / ("simrun_configs_test." + std::to_string(getpid()));
  void SetUp() override {
    fs::create_directories(directory);
    std::ofstream(directory / "here.yaml") << kGood;
  }
  void TearDown() override {
    unsetenv("SIMRUN_CONFIG_PATH");
    fs::remove_all(directory);
  }
  std::string error(const std::string& name) {
    try {
      read_machine(name);
    } catch (const UserError& e) {
      return e.what();
    }
    return "(accepted)";
  }
};

TEST_F(FindMachine, BareNamesWithAndWithoutSuffix) {
  EXPECT_EQ(read_machine("l3_8core.yaml").cores, 8u);
  EXPECT_EQ(read_machine("l3_8core").cores, 8u);
}

TEST_F(FindMachine, WhatCannotBeReadSaysWhy) { EXPECT_EQ(error("/proc/self/mem"), "/proc/self/mem: cannot be read: Input/output error"); }

TEST_F(FindMachine, PathsWithAndWithoutSuffix) {
  EXPECT_EQ(read_machine((directory / "here.yaml").string()).cores, 4u);
  EXPECT_EQ(read_machine((directory / "here").string()).cores, 4u);
  EXPECT_NE(error((directory / "there").string()).find("there: no such machine file"), std::string::npos);
}

TEST_F(FindMachine, EnvironmentAndSetDirectory) {
  EXPECT_NE(error("here").find("no such machine file"), std::string::npos);
  setenv("SIMRUN_CONFIG_PATH", ("/nonexistent:" + directory.string()).c_str(), 1);
  EXPECT_EQ(read_machine("here").cores, 4u);
  unsetenv("SIMRUN_CONFIG_PATH");
  set_machines_directory(directory.string());
  EXPECT_EQ(read_machine("here.yaml").cores, 4u);
  set_machines_directory(MACHINES);
}

TEST_F(FindMachine, Missing) {
  EXPECT_NE(error("l3_8cores").find("did you mean l3_8core?"), std::string::npos) << error("l3_8cores");
  EXPECT_NE(error("/nonexistent/x.yaml").find("/nonexistent/x.yaml: no such"), std::string::npos);
  EXPECT_NE(error(directory.string()).find("a directory"), std::string::npos);
  EXPECT_NE(error("").find("empty"), std::string::npos);
}

TEST_F(FindMachine, ErrorsNameTheFile) {
  std::ofstream(directory / "bad.yaml") << "cores: 1\nlevel: 2\n";
  EXPECT_EQ(
      error((directory / "bad.yaml").string()).find((directory / "bad.yaml").string() + ":2:1: unknown key 'level'"),
      0u);
}

// It is what there is, so it is no error.
TEST(ReadMachine, InclusionOfLevel1IsWarnedOf) {
  std::vector<std::string> warnings;
  set_warning_writer([&](const std::string& what) { warnings.push_back(what); });
  const auto machine = parse_machine("cores: 1\nlevels:\n  - {name: L1, size: 1KiB, ways: 8, inclusion: inclusive}\n  - {name: L2, size: 2KiB, ways: 8, inclusion: inclusive}\n", "m.yaml");
  EXPECT_EQ(warnings, std::vector<std::string>{"m.yaml: L1 is the level nearest the core: 'inclusion' means nothing there"});
  EXPECT_EQ(parse_machine(to_json(machine).dump(), "m.yaml"), machine);
  EXPECT_EQ(warnings.size(), 1u) << "what `simrun config --json` prints";
  set_warning_writer([](const std::string&) {});
}

}  // namespace
}  // namespace simrun::configs
