#include "cli/run_options.h"

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/result_files.h"
#include "cli/sub_commands.h"

namespace simrun::cli {

namespace {

const Choices<RunMode> kModes = {
    {"null", RunMode::kNull}, {"count", RunMode::kCount}, {"trace", RunMode::kTrace}, {"sim", RunMode::kSim}};

constexpr const char* kDescription =
    "simrun runs an unmodified Linux x86-64 program, sees every instruction and memory reference of all its\n"
    "threads, and simulates a coherent cache hierarchy with them while it runs.";

constexpr const char* kUsage =
    "simrun [run] --config MACHINE [OPTIONS] -- PROGRAM [ARGUMENTS...]\n"
    "       simrun COMMAND ...";

constexpr const char* kExamples =
    R"(Examples:
  simrun --config l3_8core.yaml -- ls -lR /usr/share
      Runs ls as ever; then prints, on standard error, what an 8-core machine's caches would have seen.
      A bare name is looked up in the machines that come with simrun; a path works too.
  simrun --config l3_8core.yaml --json result.json --quiet -- ./solver input.dat
      For scripts: no report, no progress line; everything in result.json (docs/results.md).
  simrun --mode trace -- gzip -k big.tar
      Counts instructions, loads and stores; no cache model. With --mode count instructions only, at a third of the cost.
  simrun --mode null --stats engine -- python3 script.py
      Translation only: what does running from the code cache cost?
  simrun sharing --config l3_8core.yaml -- ./parallel_program
      The lines that its threads fight over, with variables, source lines and the fix (docs/sharing.md).
  simrun --config l3_8core --details -- ./solver
      Why it misses, and where: by class, by instruction and source line, by line of memory.
  simrun --config l3_8core --sweep L2.size=256KiB,512KiB,1MiB --sweep L2.replacement=lru,srrip -- ./solver
      Six machines over one run.
  simrun --config l3_8core --config intel_i9_13900k -- ./solver
      Two machines over one run, so that what differs is the machine.
  simrun --config l3_8core --from marker:1 --to marker:2 -- ./solver
      Only what lies between two marks (SIMRUN_MARKER of simrun.h, SSC marks); or functions, or --from 2G --warm-up 100M.
  simrun attach --config l3_8core.yaml --for 10s 4711
      Ten seconds of a process that runs already; then it runs on natively.
  simrun config l3_8core.yaml
      The machine as a picture; --config host simulates the one that this runs on.
  source <(simrun completion bash)

Everything behind `--` belongs to the program. Its standard streams, exit status and ending signal are its own.
Exit status of simrun: the program's; 2 for a usage error, 1 for a failure, 127 when there is no such program,
126 when it cannot be executed. Sizes: 65536, 256KiB, 64MiB (powers of 1024);
numbers of instructions: 1000000, 250k, 2.5M, 1G (powers of 1000).
)";

std::string commands_and_examples() {
  std::string text = "Commands (simrun COMMAND --help says more):\n";
  for (const SubCommand& command : sub_commands()) text += fmt::format("  {:<12}{}\n", command.name, command.summary);
  return text + "\n" + kExamples;
}

void add_model_options(CLI::App& run, RunOptions& o) {
  run.add_option("--warm-up", o.warm_up, "Instructions at the start of the region that warm the caches and are not counted")
      ->transform(instruction_count(1))
      ->type_name("N")
      ->group("Region");
  run.add_option("--interval", o.interval, "Counts over time, in the result files: for each N instructions of all threads (1000 or more); of one machine")
      ->transform(instruction_count(kShortestInterval, kLongestInterval))
      ->type_name("N")
      ->group("Model");
  run.add_option("--sim-threads", o.sim_threads, "Host threads that simulate: one machine in slices, or a sweep")
      ->transform(whole_number(1, 256))
      ->type_name("N")
      ->group("Model");
  run.add_option("--miss-curve", o.miss_curve, "Misses of every size of a level (L1D, L2, ...), fully associative; of one machine, by one thread, without --details and --warm-up")
      ->type_name("LEVEL")
      ->group("Model");
  run.add_flag("--details", o.details,
               "Also misses by class (compulsory, capacity, conflict, true and false sharing), lifetimes of lines, reuse "
               "distances, and which instructions and lines miss most (slow; of one machine, by one thread, without --warm-up)")
      ->group("Model");
  run.add_option("-n,--top", o.top, "With --details: functions, instructions, objects and lines to name")
      ->transform(whole_number(0, 1u << 20))
      ->type_name("N")
      ->capture_default_str()
      ->group("Model");
  add_memory_trace_options(run, o.memory_trace);
  run.add_flag("--check", o.check, "Check the model's state and balances now and then (slow); of several machines at the end")->group("Model");
}

void check_model_options(const CommandLine& line, const RunOptions& o) {
  const bool any = o.machines.are_many() || !o.miss_curve.empty() || o.interval != 0 || o.sim_threads != 0 || o.check || o.details ||
                   !o.memory_trace.file.empty() || o.warm_up != 0;
  if (o.warm_up != 0 && (o.details || !o.miss_curve.empty()))
    line.usage_error("--details and --miss-curve tell what became of each line from the start: without --warm-up");
  if (o.details && (o.machines.are_many() || !o.miss_curve.empty() || o.sim_threads > 1))
    line.usage_error("--details goes with one machine in one thread, not with several --config, --sweep, --miss-curve or --sim-threads");
  if (!o.program.pins.empty() && o.mode != RunMode::kSim) line.usage_error("--pin needs the cache model (--mode sim)");
  if (o.program.recorded_order && (o.mode == RunMode::kCount || o.mode == RunMode::kNull || o.program.discard))
    line.usage_error("--order recorded needs the stream: --mode sim or trace");
  if (any && o.mode != RunMode::kSim)
    line.usage_error("--interval, --sim-threads, --sweep, --miss-curve, --details, --memory-trace, --warm-up and --check need the cache model (--mode sim)");
  for (const char* option : {"--config", "--time-slice"})
    if (line.has(option) && o.mode != RunMode::kSim) line.usage_error(fmt::format("{} needs the cache model (--mode sim)", option));
  if (line.has("--top") && !o.details) line.usage_error("--top goes with --details");
  if (o.machines.are_many() && (!o.miss_curve.empty() || o.interval != 0))
    line.usage_error("several --config and --sweep do not go with --miss-curve or --interval");
  if (o.interval != 0 && !o.results.any())
    line.usage_error("--interval is not in the report: it goes with --json, --hdf5, --csv or --html");
  check_memory_trace_options(line, o.memory_trace, !o.machines.are_many() && o.miss_curve.empty() && o.sim_threads <= 1 && !o.details);
  if (!o.miss_curve.empty() && o.sim_threads > 1) line.usage_error("--miss-curve is made by one thread");
}

}  // namespace

void add_run_options(CLI::App& run, RunOptions& o, RunTexts& texts) {
  add_machine_options(run, o.machines, "Machine to simulate: a YAML file, or the name of one that comes with simrun", "Model");
  add_result_file_options(run, o.results);
  add_choice(run, "--mode", o.mode,
             "null: translate only; count: count instructions; trace: instructions and references; sim: simulate "
             "the caches",
             kModes)
      ->default_str("sim");
  run.add_option("--stats", texts.statistics, "Also report statistics of: engine")
      ->check(one_of({"engine"}, ChoiceBecomes::kWord))
      ->type_name("engine");
  add_program_options(run, o.program);
  add_order_options(run, o.program);
  add_region_options(run, o.region, texts.region, "Region");
  add_model_options(run, o);
  run.add_flag("--discard", o.program.discard, "With --mode trace: each thread overwrites its stream, which nobody reads (what tracing alone costs)")
      ->group("Engine");
}

void check_run_options(const CommandLine& line, RunOptions& o, const RunTexts& texts, const std::string& example) {
  o.engine_statistics = texts.statistics == "engine";
  check_region_options(line, o.region, texts.region, o.warm_up);
  if (o.region.any() && (o.mode == RunMode::kNull || o.mode == RunMode::kCount || o.program.discard))
    line.usage_error("--from, --to and --region need the stream: --mode sim or trace");
  if (o.mode == RunMode::kSim && o.machines.configs.empty())
    line.usage_error("which machine? Give --config MACHINE, for example: " + example);
  check_model_options(line, o);
  if (o.program.discard && o.mode != RunMode::kTrace) line.usage_error("--discard goes with --mode trace");
}

RunOptions parse_run_options(const Words& words) {
  RunOptions o;
  RunTexts texts;
  CommandLine line("simrun", kUsage, kDescription);
  line.app().footer(commands_and_examples());
  line.app().set_version_flag("--version", std::string("simrun ") + SIMRUN_VERSION);
  add_run_options(line.app(), o, texts);
  o.program.command = line.parse_with_program(words);
  check_run_options(line, o, texts, "simrun --config l3_8core.yaml -- " + o.program.command[0]);
  return o;
}

}  // namespace simrun::cli
