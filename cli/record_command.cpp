// `simrun record`: a program's streams into a trace file; with --config, simulated at the same time.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/compressed_ending.h"
#include "base/user_error.h"
#include "cli/command_line.h"
#include "cli/json_report.h"
#include "cli/machine_options.h"
#include "cli/model_sink.h"
#include "cli/output_file.h"
#include "cli/print_error.h"
#include "cli/region_options.h"
#include "cli/report.h"
#include "cli/run_program.h"
#include "cli/sub_commands.h"
#include "cli/terminal_signals.h"
#include "cli/trace_information.h"
#include "cli/trace_recorder.h"
#include "configs/read_machine.h"
#include "instr/channel/counting_sink.h"
#include "sim/hierarchy.h"
#include "traces/region.h"

namespace simrun::cli {

namespace {

struct RecordOptions {
  ProgramOptions program;
  std::string output, config, json_file;
  RegionOptions region;
  traces::WriterOptions writer;
  uint64_t chunk_bytes = 32u << 20;
};

RecordOptions parse_record(const Words& words) {
  RecordOptions o;
  CommandLine line("simrun record", "simrun record -o FILE [OPTIONS] -- PROGRAM [ARGUMENTS...]",
                   "Runs a program and records every instruction and memory reference of its threads, in the order in\n"
                   "which they are simulated. simrun sim, view, info, check and convert read the file.");
  line.app().add_option("-o,--output", o.output, "The trace; until it is complete it is called FILE.partial")
      ->required()
      ->type_name("FILE");
  std::string region;
  add_region_options(line.app(), o.region, region, "");
  add_machine_option(line.app(), o.config, "Simulate this machine at the same time, as simrun run does");
  line.app().add_option("-j,--json", o.json_file, "With --config: the results as JSON")->type_name("FILE");
  line.app().add_option("--level", o.writer.level, "Level of zstd")->transform(whole_number(1, 19))
      ->type_name("N")->capture_default_str();
  line.app().add_option("--workers", o.writer.workers, "Threads that compress; 0: as many as processors, at most 8")
      ->transform(whole_number(0, 64))->type_name("N")->capture_default_str();
  line.app().add_option("--chunk-size", o.chunk_bytes, "Uncompressed size of a chunk, the part of a trace that can be decoded by itself")
      ->transform(size_in_bytes(64u << 10, traces::kMaxChunkWords * 4))->type_name("SIZE")->default_str("32MiB");
  add_order_options(line.app(), o.program);
  add_program_options(line.app(), o.program);
  o.program.command = line.parse_with_program(words);
  if (const std::string_view ending = compressed_ending(o.output); !ending.empty())
    line.usage_error(fmt::format("-o {}: a trace is compressed in a way of its own, so not {}", o.output, ending));
  check_region_options(line, o.region, region);
  if (o.config.empty() && !o.json_file.empty()) line.usage_error("--json goes with --config");
  if (o.config.empty() && !o.program.pins.empty())
    line.usage_error("--pin goes with --config: without a machine there are no cores");
  o.writer.chunk_words = o.chunk_bytes / 8;
  o.program.watch_mappings = true;
  return o;
}

struct Recording {
  RunResult result;
  nlohmann::ordered_json region;  // null: none
  bool stopped = false;           // by us, as asked
  std::string nothing;            // why nothing is in the region; empty: something is
};

// Runs the program with its references going into the sink that `make_inner` makes for its processes.
template <class MakeInner>
Recording record(const RecordOptions& o, traces::Writer& writer, MakeInner&& make_inner, uint32_t line_bytes,
                 uint32_t cores) {
  Recording recording;
  std::optional<traces::RegionTracker> region;
  if (o.region.any()) region.emplace(region_tracker(o.region));
  ProgramRun run(o.program, border::Mode::kTrace);
  auto inner = make_inner(&run.family());
  using Inner = decltype(inner);
  if (!region) {
    WholeRecorder<Inner> sink(writer, run.family(), inner);
    recording.result = run.into(sink, line_bytes, cores);
    return recording;
  }
  RegionRecorder<Inner> sink(writer, run.family(), *region, inner);
  if (o.region.stop)
    sink.set_on_end([&] {
      recording.stopped = true;
      run.family().end_all();
    });
  recording.result = run.into(sink, line_bytes, cores);
  recording.result.threads = sink.threads().in_region(recording.result.threads);
  if (recording.stopped)   // killed behind the region, nothing of which is missing
    for (channel::ThreadReport& thread : recording.result.threads) thread.cut_off = false;
  if (cores != 0) recording.result.cores = sink.threads().cores_in_region(recording.result.threads, cores);
  RegionReport report = region_report(o.region, *region);
  report.stopped = recording.stopped;
  recording.region = {{"from", report.from},
                      {"to", report.to},
                      {"first_instruction", report.first},
                      {"last_instruction", report.last},
                      {"reached_its_end", report.reached_its_end}};
  recording.nothing = why_region_is_empty(o.region, *region);
  if (recording.nothing.empty()) warn_of_missing_end(o.region, *region, recording.result);
  recording.result.region = report;
  if (recording.stopped) recording.result.signal = recording.result.exit_code = 0;
  return recording;
}

Recording simulate_and_record(const RecordOptions& o, std::optional<sim::MachineConfig> machine, traces::Writer& writer) {
  if (!machine) {
    const auto none = [](const host::Family*) { return channel::CountingSink(); };
    return record(o, writer, none, channel::MergeOptions{}.line_bytes, 0);
  }
  sim::Hierarchy model(*machine);
  const auto record_into = [&](auto make) { return record(o, writer, make, model.line_bytes(), model.cores()); };
  Recording recording =
      model.wants_pc()
          ? record_into([&](const host::Family* f) { return PcModelSink<sim::Hierarchy>(model, nullptr, f); })
          : record_into([&](const host::Family* f) { return ModelSink(model, nullptr, f); });
  recording.result.machine = std::move(machine);
  recording.result.caches = model.statistics();
  return recording;
}

void report(const RecordOptions& o, const RunResult& result, const traces::Writer& writer) {
  for (const std::string& warning : result.warnings) print_error("simrun: warning: {}\n", warning);
  if (!result.error.empty()) print_error("simrun: error: {}\n", result.error);
  if (o.program.quiet) return;
  print_error("{}", text_report(result));
  const uint64_t instructions = writer.written_instructions();
  if (instructions == 0) return;
  const double bits = 8.0 * static_cast<double>(writer.bytes()) / static_cast<double>(instructions);
  print_error("\n   trace {}: {} instructions in {} bytes, {:.3f} bits an instruction\n", o.output, grouped(instructions), grouped(writer.bytes()), bits);
}

}  // namespace

int record_command(const Words& words) {
  const RecordOptions options = parse_record(words);
  refuse_same_file({program_itself(options.program.command), {"--output", options.output}, {"--json", options.json_file}});
  std::optional<OutputFile> json;
  if (!options.json_file.empty()) json.emplace(options.json_file);
  std::optional<sim::MachineConfig> machine;
  if (!options.config.empty()) machine = configs::read_machine(options.config);
  if (machine) check_pins(options.program, machine->cores);
  std::optional<traces::Writer> trace;
  traces::Writer& writer = trace.emplace(options.output, trace_information(options.program, machine ? machine->cores : 0), options.writer);
  Recording recording = simulate_and_record(options, std::move(machine), writer);
  RunResult& result = recording.result;
  result.mode = options.config.empty() ? RunMode::kTrace : RunMode::kSim;
  if (writer.instructions() == 0 && writer.stopped().empty() && recording.nothing.empty())
    recording.nothing = "the program executed no instruction that is counted";
  if (recording.nothing.empty()) {
    nlohmann::ordered_json summary = trace_summary(result);
    if (!recording.region.is_null()) summary["region"] = recording.region;
    if (recording.stopped) summary["stopped_as_asked"] = true;
    writer.finish(std::move(summary));
  } else if (result.error.empty()) {
    result.error = say_nothing("recorded", recording.nothing, result);  // a script must not take it for a trace
  }
  if (const std::string why = writer.stopped(); !why.empty() && result.error.empty())
    result.error = fmt::format("the recording ended early: cannot write {}: {}. What was recorded before is complete and "
                               "can be used",
                               options.output, why);
  const auto write = [&] {
    if (json) json->commit(json_report(result).dump(2) + "\n");
  };
  write_then_print(write, [&] { report(options, result, writer); });
  trace.reset();  // not finished: its file goes
  if (!recording.nothing.empty() && result.signal != SIGINT) return 1;  // of Ctrl-C shells want to know
  if (result.signal != 0) end_by_signal(result.signal);
  return result.error.empty() ? result.exit_code : 1;
}

}  // namespace simrun::cli
