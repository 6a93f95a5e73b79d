#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <map>

#include "base/user_error.h"
#include "cli/help_text.h"

namespace simrun::cli {

namespace {

constexpr uint64_t kSmallestChunk = 8 * 1024;
constexpr uint64_t kMostChunks = 8;

const std::map<std::string, RunMode> kModes = {
    {"null", RunMode::kNull}, {"trace", RunMode::kTrace}, {"sim", RunMode::kSim}};

struct RunFlags {
  std::string statistics;
  bool no_link = false;
  bool no_elide = false;
  bool verify = false;
};

void add_run_options(CLI::App& run, RunOptions& o, RunFlags& flags) {
  const CLI::AsSizeValue size(false);
  run.add_option("-c,--config", o.config, "Machine to simulate: a YAML file, or the name of one that comes with simrun")
      ->type_name("FILE");
  run.add_option("-j,--json", o.json_file, "Write the results as JSON (docs/results.md)")->type_name("FILE");
  run.add_flag("-q,--quiet", o.quiet, "No report and no progress line; warnings and errors only");
  run.add_option("--mode", o.mode,
                 "null: translate only; trace: count instructions and references; sim: simulate the caches")
      ->transform(CLI::CheckedTransformer(kModes).description(""))
      ->type_name("null|trace|sim")
      ->default_str("sim");
  run.add_flag("--aslr", o.aslr, "Keep address-space randomisation on (off by default, so that runs repeat)");
  run.add_option("--quantum", o.quantum, "Instructions that a thread advances before it is another's turn")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40).description(""))
      ->type_name("N")
      ->capture_default_str();
  run.add_option("--stats", flags.statistics, "Also report statistics of: engine")
      ->check(CLI::IsMember({"engine"}).description(""))
      ->type_name("engine");
  run.add_option("--ring-size", o.ring_bytes, "Shared memory for the stream of one thread")
      ->transform(size.description(""))
      ->type_name("SIZE")
      ->default_str("1MiB")
      ->group("Engine");
  run.add_option("--code-cache", o.code_cache_bytes, "Size of the code cache")
      ->transform(size.description(""))
      ->type_name("SIZE")
      ->default_str("64MiB")
      ->group("Engine");
  run.add_option("--max-superblock", o.max_superblock_instructions, "Longest superblock, in instructions")
      ->check(CLI::Range(1, 64).description(""))
      ->type_name("N")
      ->capture_default_str()
      ->group("Engine");
  run.add_flag("--no-link", flags.no_link, "Every exit of a superblock goes through the dispatcher")->group("Engine");
  run.add_flag("--no-elide", flags.no_elide, "Every operand gets address words of its own")->group("Engine");
  run.add_flag("--verify", flags.verify, "Slow and simple: superblocks of one instruction")->group("Engine");
  run.add_option("--force-safe-points", o.force_safe_points, "Take the slow path of every N-th check on average")
      ->type_name("N")
      ->capture_default_str()
      ->group("Engine");
  run.add_flag("--discard", o.discard, "With --mode trace: throw the stream away unread (what tracing alone costs)")
      ->group("Engine");
}

[[noreturn]] void usage_error(const std::string& what) { throw UserError(what + "\nTry: simrun --help", 2); }

void check_run(RunOptions& o, const RunFlags& flags) {
  o.engine_statistics = flags.statistics == "engine";
  o.link_superblocks = !flags.no_link;
  o.elide_words = !flags.no_elide;
  if (flags.verify) o.max_superblock_instructions = 1;
  if (o.command.empty()) usage_error("no program to run: simrun --config l3_8core.yaml -- PROGRAM ARGUMENTS...");
  if (o.mode == RunMode::kSim && o.config.empty())
    usage_error("which machine? Give --config FILE, for example: simrun --config l3_8core.yaml -- " + o.command[0]);
  if (o.discard && o.mode != RunMode::kTrace) usage_error("--discard goes with --mode trace");
  if (o.ring_bytes < 2 * kSmallestChunk || o.ring_bytes > uint64_t{1} << 30)
    usage_error(fmt::format("--ring-size {}: from 16KiB to 1GiB", o.ring_bytes));
  o.ring_bytes = o.ring_bytes / ring_chunk_bytes(o.ring_bytes) * ring_chunk_bytes(o.ring_bytes);
  if (o.code_cache_bytes < 256u << 10 || o.code_cache_bytes > uint64_t{1} << 30)
    usage_error(fmt::format("--code-cache {}: from 256KiB to 1GiB", o.code_cache_bytes));
}

// CLI11 reads the options up to the first word that is none; from there, or behind `--`, everything is the program's.
struct Split {
  std::vector<std::string> ours, programs;
  bool explicitly = false;
};

Split split(const std::vector<std::string>& arguments) {
  const auto bar = std::find(arguments.begin(), arguments.end(), "--");
  Split s{{arguments.begin(), bar}, {}, bar != arguments.end()};
  if (s.explicitly) s.programs.assign(bar + 1, arguments.end());
  return s;
}

// CLI11's text with our usage lines in the place of its own.
std::string help_of(const CLI::App& app) {
  std::string text = app.help();
  const size_t usage = text.find("Usage:");
  if (usage != std::string::npos) text.replace(usage, text.find('\n', usage) - usage, kUsage);
  return text;
}

// CLI11 wants the arguments last first.
void parse(CLI::App& app, std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());
  app.parse(std::move(arguments));
}

CommandLine parse_run(std::vector<std::string> ours, std::vector<std::string> programs, bool explicitly) {
  CommandLine line;
  RunFlags flags;
  CLI::App app(kDescription, "simrun");
  app.footer(kExamples);
  app.set_help_flag("-h,--help", "This text");
  app.set_version_flag("--version", std::string("simrun ") + SIMRUN_VERSION);
  app.prefix_command();
  add_run_options(app, line.run, flags);
  try {
    parse(app, std::move(ours));
  } catch (const CLI::CallForHelp&) {
    return {Command::kText, {}, help_of(app)};
  } catch (const CLI::CallForVersion& version) {
    return {Command::kText, {}, std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    usage_error(error.what());
  }
  std::vector<std::string> rest = app.remaining();
  if (!rest.empty() && (explicitly || rest[0].starts_with("-"))) usage_error("unknown option or word: " + rest[0]);
  line.run.command = explicitly ? std::move(programs) : std::move(rest);
  check_run(line.run, flags);
  return line;
}

CommandLine parse_words(Command command, const std::vector<std::string>& words, const char* usage) {
  if (words.size() == 2 && (words[1] == "-h" || words[1] == "--help"))
    return {Command::kText, {}, std::string(usage) + "\n"};
  if (words.size() != 2) usage_error(usage);
  return {command, {}, words[1]};
}

}  // namespace

uint32_t ring_chunk_bytes(uint64_t ring_bytes) {
  return static_cast<uint32_t>(std::max(std::bit_floor(ring_bytes / kMostChunks), kSmallestChunk));
}

CommandLine parse_command_line(const std::vector<std::string>& arguments) {
  Split words = split(arguments);
  const std::string first = words.ours.empty() ? "" : words.ours[0];
  if (first == "config") return parse_words(Command::kConfig, words.ours, "Usage: simrun config FILE");
  if (first == "completion") return parse_words(Command::kCompletion, words.ours, "Usage: simrun completion bash|zsh");
  if (first == "run") words.ours.erase(words.ours.begin());
  return parse_run(std::move(words.ours), std::move(words.programs), words.explicitly);
}

}  // namespace simrun::cli
