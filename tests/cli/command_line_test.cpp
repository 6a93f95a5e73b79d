#include "cli/command_line.h"

#include <gtest/gtest.h>

#include "base/user_error.h"
#include "cli/run_options.h"
#include "cli/sub_commands.h"

namespace simrun::cli {
namespace {

RunOptions run_of(const Words& arguments) { return parse_run_options(arguments); }

template <class F>
std::string usage_error_of(F&& f) {
  try {
    f();
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_status, 2);
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

std::string error_of(const Words& arguments) {
  return usage_error_of([&] { parse_run_options(arguments); });
}

std::string text_of(const Words& arguments) {
  try {
    parse_run_options(arguments);
  } catch (const TextWanted& wanted) {
    return wanted.text;
  }
  ADD_FAILURE() << "no text";
  return "";
}

TEST(CommandLine, ProgramBehindTheBars) {
  const RunOptions o = run_of({"--config", "m.yaml", "--", "ls", "-l", "--", "--json", "x"});
  EXPECT_EQ(o.machines.configs, Words{"m.yaml"});
  EXPECT_EQ(o.program.command, (Words{"ls", "-l", "--", "--json", "x"}));
  EXPECT_EQ(o.mode, RunMode::kSim);
  EXPECT_TRUE(o.results.json.empty());
}

TEST(CommandLine, ProgramWithoutBars) {
  EXPECT_EQ(run_of({"--config=m.yaml", "ls", "-l", "--quiet"}).program.command, (Words{"ls", "-l", "--quiet"}));
  EXPECT_FALSE(run_of({"--config=m.yaml", "ls", "--quiet"}).program.quiet);
}

TEST(CommandLine, ProgramNamedLikeASubcommand) {
  EXPECT_EQ(run_of({"--mode", "trace", "--", "config", "x"}).program.command, (Words{"config", "x"}));
}

TEST(CommandLine, SizesThatAreTooLargeAreUsageErrors) {
  EXPECT_NE(error_of({"--mode", "trace", "--code-cache", "99999999999999999999", "--", "true"}).find("from 256KiB to 1GiB"),
            std::string::npos);
}

TEST(CommandLine, CountsHaveUnits) {
  const RunOptions o = run_of({"--config", "m.yaml", "-j", "r.json", "--interval", "1.5M", "--quantum", "1k", "--time-slice", "2B", "--", "true"});
  EXPECT_EQ(o.interval, 1'500'000u);
  EXPECT_EQ(o.program.quantum, 1000u);
  EXPECT_EQ(o.program.time_slice, 2'000'000'000u);
  EXPECT_EQ(run_of({"--config", "m.yaml", "-j", "r.json", "--interval", "100000", "--", "true"}).interval, 100'000u);
  for (const char* wrong : {"ten", "1Q", "1 M", "nan", "0x10", "M"}) {
    EXPECT_NE(error_of({"--config", "m.yaml", "--interval", wrong, "--", "true"}).find("is no number of instructions"),
              std::string::npos)
        << wrong;
  }
  EXPECT_NE(error_of({"--config", "m.yaml", "--interval", "0.9k", "--", "true"}).find("0.9k is not from 1000 to "),
            std::string::npos);
}

TEST(CommandLine, EveryEngineOption) {
  const RunOptions o = run_of(
      {"--mode", "null",    "--aslr", "--ring-size",      "128KiB", "--quantum", "7",          "--code-cache",
       "16MiB",  "--stats", "engine", "--max-superblock", "9",      "--no-link", "--no-elide", "--no-unroll", "--no-fsgsbase", "--force-safe-points",
       "5",      "--protect-code", "77", "--described", "20000", "-q",      "-j",     "r.json",           "--",     "true"});
  EXPECT_EQ(o.mode, RunMode::kNull);
  EXPECT_TRUE(o.program.aslr && o.program.quiet && o.engine_statistics);
  EXPECT_EQ(o.program.ring_bytes, 128u * 1024);
  EXPECT_EQ(o.program.code_cache_bytes, 16u << 20);
  EXPECT_EQ(o.program.quantum, 7u);
  EXPECT_EQ(o.program.protect_code_after, 77u);
  EXPECT_EQ(o.program.described_superblocks, 20000u);
  EXPECT_EQ(o.program.max_superblock_instructions, 9u);
  EXPECT_FALSE(o.program.link_superblocks || o.program.elide_words || o.program.unroll_loops || o.program.base_instructions);
  EXPECT_EQ(o.program.force_safe_points, 5u);
  EXPECT_EQ(o.results.json, "r.json");
}

TEST(CommandLine, VerifyMeansSuperblocksOfOne) {
  EXPECT_EQ(run_of({"--mode", "trace", "--verify", "--", "true"}).program.max_superblock_instructions, 1u);
}

TEST(CommandLine, UsageErrorsSayWhatIsWrong) {
  EXPECT_NE(error_of({}).find("no program"), std::string::npos);
  EXPECT_NE(error_of({"--", "ls"}).find("--config"), std::string::npos);
  EXPECT_NE(error_of({"--conifg", "x", "--", "ls"}).find("--conifg"), std::string::npos);
  EXPECT_NE(error_of({"--mode", "fast", "--", "ls"}).find("fast"), std::string::npos);
  EXPECT_NE(error_of({"--mode", "trace", "word", "--", "ls"}).find("word"), std::string::npos);
  EXPECT_NE(error_of({"--mode", "trace", "--ring-size", "1KiB", "--", "ls"}).find("--ring-size"), std::string::npos);
  EXPECT_NE(error_of({"--mode", "trace", "--ring-size", "256MiB", "--", "ls"}).find("--ring-size"), std::string::npos);
  EXPECT_NE(error_of({"--mode", "trace", "--ring-size", "many", "--", "ls"}).find("--ring-size"), std::string::npos);
  EXPECT_NE(error_of({"--mode", "trace", "--quantum", "0", "--", "ls"}).find("--quantum"), std::string::npos);
  EXPECT_NE(error_of({"--mode", "trace", "--force-safe-points", "1", "--", "ls"}).find("at least 2"), std::string::npos);
  EXPECT_NE(error_of({"--discard", "--mode", "sim", "-c", "m", "--", "ls"}).find("--discard"), std::string::npos);
  usage_error_of([] { config_command({}); });
  usage_error_of([] { completion_command({"bash", "zsh"}); });
  usage_error_of([] { completion_command({"fish"}); });
}

TEST(CommandLine, OptionsThatWouldDoNothing) {
  for (const char* file : {"--json", "--hdf5", "--csv"})
    EXPECT_EQ(run_of({"-c", "m", "--interval", "10k", file, "f", "--", "true"}).interval, 10'000u) << file;
  EXPECT_NE(error_of({"-c", "m", "--interval", "10k", "--", "true"}).find("--json, --hdf5, --csv or --html"), std::string::npos);
  EXPECT_NE(error_of({"-c", "m", "--top", "20", "--", "true"}).find("--details"), std::string::npos);
  EXPECT_EQ(run_of({"-c", "m", "--top", "7", "--details", "--", "true"}).top, 7u);
  for (const char* mode : {"trace", "count", "null"}) {
    EXPECT_NE(error_of({"--mode", mode, "-c", "m", "--", "true"}).find("--mode sim"), std::string::npos) << mode;
    EXPECT_NE(error_of({"--mode", mode, "--time-slice", "5", "--", "true"}).find("--mode sim"), std::string::npos) << mode;
  }
  const auto sim_error_of = [](const Words& words) { return usage_error_of([&] { sim_command(words); }); };
  EXPECT_NE(sim_error_of({"t", "-c", "m", "--interval", "10k", "-q"}).find("--json, --hdf5, --csv or --html"), std::string::npos);
  EXPECT_NE(sim_error_of({"t", "-c", "m", "--top", "7"}).find("--details"), std::string::npos);
}

TEST(CommandLine, ASweepIsOneWord) {
  const RunOptions o = run_of({"-c", "m", "--sweep", "L2.ways=4,8", "--sweep", "L1.ways=2", "true", "x"});
  EXPECT_EQ(o.machines.sweeps, (Words{"L2.ways=4,8", "L1.ways=2"}));
  EXPECT_EQ(run_of({"-c", "m", "--config", "n", "true"}).machines.configs, (Words{"m", "n"}));
  EXPECT_EQ(o.program.command, (Words{"true", "x"}));
  try {
    sim_command({"--sweep", "L2.ways=4,8", "/nonexistent/trace", "-c", "m"});
    ADD_FAILURE() << "accepted";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/trace"), std::string::npos) << error.what();
  }
}

TEST(CommandLine, HelpHasEveryOptionEveryCommandAndTheExamples) {
  const std::string help = text_of({"--help"});
  for (const char* option :
       {"--config", "--json", "--quiet", "--mode", "--aslr", "--ring-size", "--quantum", "--code-cache", "--stats",
        "--max-superblock", "--no-link", "--no-elide", "--no-unroll", "--no-fsgsbase", "--verify", "--force-safe-points", "--protect-code",
        "--described"})
    EXPECT_NE(help.find(option), std::string::npos) << option;
  for (const SubCommand& command : sub_commands())
    EXPECT_NE(help.find(std::string("\n  ") + command.name + " "), std::string::npos) << command.name;
  EXPECT_NE(help.find("Examples:"), std::string::npos);
  EXPECT_EQ(text_of({"--version"}).substr(0, 7), "simrun ");
}

TEST(CommandLine, RingsHaveChunksThatFit) {
  EXPECT_EQ(ring_chunk_bytes(256 * 1024), 32u * 1024);
  EXPECT_EQ(ring_chunk_bytes(16 * 1024), 8u * 1024);
  EXPECT_EQ(whole_chunks(100000) % ring_chunk_bytes(100000), 0u);
  EXPECT_GT(whole_chunks(100000), 90000u);
}

}  // namespace
}  // namespace simrun::cli
