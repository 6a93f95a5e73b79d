#include "cli/command_line.h"

#include <gtest/gtest.h>

#include "base/user_error.h"
#include "cli/completion.h"

namespace simrun::cli {
namespace {

using Words = std::vector<std::string>;

RunOptions run_of(const Words& arguments) {
  const CommandLine line = parse_command_line(arguments);
  EXPECT_EQ(line.command, Command::kRun);
  return line.run;
}

std::string error_of(const Words& arguments) {
  try {
    parse_command_line(arguments);
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_status, 2);
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

TEST(CommandLine, ProgramBehindTheBars) {
  const RunOptions o = run_of({"--config", "m.yaml", "--", "ls", "-l", "--", "--json", "x"});
  EXPECT_EQ(o.config, "m.yaml");
  EXPECT_EQ(o.command, (Words{"ls", "-l", "--", "--json", "x"}));
  EXPECT_EQ(o.mode, RunMode::kSim);
  EXPECT_TRUE(o.json_file.empty());
}

TEST(CommandLine, ProgramWithoutBars) {
  EXPECT_EQ(run_of({"run", "--config=m.yaml", "ls", "-l", "--quiet"}).command, (Words{"ls", "-l", "--quiet"}));
  EXPECT_FALSE(run_of({"run", "--config=m.yaml", "ls", "--quiet"}).quiet);
}

TEST(CommandLine, ProgramNamedLikeASubcommand) {
  EXPECT_EQ(run_of({"--mode", "trace", "--", "config", "x"}).command, (Words{"config", "x"}));
}

TEST(CommandLine, EveryEngineOption) {
  const RunOptions o = run_of(
      {"--mode", "null",    "--aslr", "--ring-size",      "128KiB", "--quantum", "7",          "--code-cache",
       "16MiB",  "--stats", "engine", "--max-superblock", "9",      "--no-link", "--no-elide", "--force-safe-points",
       "5",      "-q",      "-j",     "r.json",           "--",     "true"});
  EXPECT_EQ(o.mode, RunMode::kNull);
  EXPECT_TRUE(o.aslr && o.quiet && o.engine_statistics);
  EXPECT_EQ(o.ring_bytes, 128u * 1024);
  EXPECT_EQ(o.code_cache_bytes, 16u << 20);
  EXPECT_EQ(o.quantum, 7u);
  EXPECT_EQ(o.max_superblock_instructions, 9u);
  EXPECT_FALSE(o.link_superblocks || o.elide_words);
  EXPECT_EQ(o.force_safe_points, 5u);
  EXPECT_EQ(o.json_file, "r.json");
}

TEST(CommandLine, VerifyMeansSuperblocksOfOne) {
  EXPECT_EQ(run_of({"--mode", "trace", "--verify", "--", "true"}).max_superblock_instructions, 1u);
}

TEST(CommandLine, UsageErrorsSayWhatIsWrong) {
  EXPECT_NE(error_of({}).find("no program"), std::string::npos);
  EXPECT_NE(error_of({"--", "ls"}).find("--config"), std::string::npos);
  EXPECT_NE(error_of({"--conifg", "x", "--", "ls"}).find("--conifg"), std::string::npos);
  EXPECT_NE(error_of({"--mode", "fast", "--", "ls"}).find("fast"), std::string::npos);
  EXPECT_NE(error_of({"--mode", "trace", "word", "--", "ls"}).find("word"), std::string::npos);
  EXPECT_NE(error_of({"--mode", "trace", "--ring-size", "1KiB", "--", "ls"}).find("--ring-size"), std::string::npos);
  EXPECT_NE(error_of({"--mode", "trace", "--ring-size", "many", "--", "ls"}).find("--ring-size"), std::string::npos);
  EXPECT_NE(error_of({"--mode", "trace", "--quantum", "0", "--", "ls"}).find("--quantum"), std::string::npos);
  EXPECT_NE(error_of({"--discard", "--mode", "sim", "-c", "m", "--", "ls"}).find("--discard"), std::string::npos);
  error_of({"config"});
  error_of({"completion", "bash", "zsh"});
  EXPECT_THROW(completion_script("fish"), UserError);
}

TEST(CommandLine, HelpHasEveryOptionAndTheExamples) {
  const CommandLine help = parse_command_line({"--help"});
  EXPECT_EQ(help.command, Command::kText);
  const std::string bash = completion_script("bash");
  for (const char* option :
       {"--config", "--json", "--quiet", "--mode", "--aslr", "--ring-size", "--quantum", "--code-cache", "--stats",
        "--max-superblock", "--no-link", "--no-elide", "--verify", "--force-safe-points"}) {
    EXPECT_NE(help.argument.find(option), std::string::npos) << option;
    EXPECT_NE(bash.find(option), std::string::npos) << option;
  }
  EXPECT_NE(help.argument.find("Examples:"), std::string::npos);
  EXPECT_EQ(parse_command_line({"--version"}).argument.substr(0, 7), "simrun ");
}

TEST(CommandLine, RingsHaveChunksThatFit) {
  EXPECT_EQ(ring_chunk_bytes(256 * 1024), 32u * 1024);
  EXPECT_EQ(ring_chunk_bytes(16 * 1024), 8u * 1024);
  const RunOptions odd = run_of({"--mode", "trace", "--ring-size", "100000", "--", "true"});
  EXPECT_EQ(odd.ring_bytes % ring_chunk_bytes(odd.ring_bytes), 0u);
}

}  // namespace
}  // namespace simrun::cli
