// `simrun sim`: a recorded trace through a cache model; the numbers are those of the live run.
#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <optional>

#include "base/user_error.h"
#include "cli/command_line.h"
#include "cli/hot_spots.h"
#include "cli/json_report.h"
#include "cli/output_file.h"
#include "cli/phases/replay_region.h"
#include "cli/phases/stored_state.h"
#include "cli/print_error.h"
#include "cli/progress.h"
#include "cli/replay_chunks.h"
#include "cli/report.h"
#include "cli/sub_commands.h"
#include "cli/trace_information.h"
#include "cli/trace_model_sink.h"
#include "cli/trace_symbols.h"
#include "configs/read_machine.h"
#include "sim/hierarchy.h"
#include "traces/region.h"

namespace simrun::cli {

namespace {

struct SimOptions {
  std::string trace, config, json_file, from, to, state, warm_up;
  bool details = false;
  size_t top = 20;
  bool quiet = false;
  traces::ReplaySelection selection;
};

SimOptions parse(const Words& words) {
  SimOptions o;
  CommandLine line("simrun sim", "simrun sim FILE --config FILE [OPTIONS]",
                   "Simulates a recorded trace in the order in which it was recorded: the results equal those of the\n"
                   "run that recorded it.");
  line.app().add_option("FILE", o.trace, "A trace of simrun record")->required();
  line.app().add_option("-c,--config", o.config, "Machine to simulate")->required()->type_name("FILE");
  line.app().add_option("-j,--json", o.json_file, "Write the results as JSON (docs/results.md)")->type_name("FILE");
  line.app().add_option("--from", o.from, "Start at this instruction of the trace")->type_name("N");
  line.app().add_option("--to", o.to, "End at this instruction")->type_name("N");
  line.app()
      .add_option("--warm-up", o.warm_up,
                  "Instructions that warm the caches and are not counted; region: what lies before the region in a\n"
                  "trace of simrun pinpoints (default: none, all is counted)")
      ->type_name("N|region");
  line.app()
      .add_option("--state", o.state,
                  "Begin with the caches as they are in this file, which simrun pinpoints --snapshots stored for this\n"
                  "machine, behind the warm-up of the trace")
      ->type_name("FILE");
  line.app()
      .add_option("--thread", o.selection.thread,
                  "Only this thread (simrun info lists them); --from and --to count all")
      ->check(CLI::NonNegativeNumber.description(""))
      ->type_name("N");
  line.app()
      .add_option("--process", o.selection.process, "Only this process")
      ->check(CLI::NonNegativeNumber.description(""))
      ->type_name("N");
  line.app().add_flag(
      "--details", o.details,
      "Also misses by class, lifetimes of lines, reuse distances, and which instructions and lines miss\n"
      "most (slow)");
  line.app()
      .add_option("-n,--top", o.top, "With --details: instructions and lines to name")
      ->type_name("N")
      ->capture_default_str();
  line.app().add_flag("-q,--quiet", o.quiet, "No report and no progress line; warnings and errors only");
  line.parse(words);
  if (!o.state.empty() && !(o.warm_up.empty() && o.from.empty()))
    line.usage_error("--state says where to begin: without --from and --warm-up");
  if (o.details && !(o.state.empty() && o.warm_up.empty()))
    line.usage_error("--details tells what became of each line from the start: without --state and --warm-up");
  return o;
}

channel::ThreadReport thread_report(const traces::ReplayThread& t) {
  channel::ThreadReport report;
  report.index = report.core = t.thread;
  report.process = t.process;
  report.tid = t.tid;
  channel::ThreadStatistics& s = report.statistics;
  s.instructions = t.counts.instructions;
  s.loads = t.counts.loads;
  s.stores = t.counts.stores;
  s.prefetches = t.counts.prefetches;
  s.flushes = t.counts.flushes;
  s.fetch_lines = t.counts.fetch_lines;
  s.paths = t.counts.paths;
  s.string_iterations = t.counts.string_iterations;
  s.syscalls = t.counts.syscalls;
  s.signals = t.counts.signals;
  s.cuts = t.counts.cuts;
  s.words = t.counts.words;
  return report;
}

uint64_t instruction_bound(const std::string& text, uint64_t otherwise) {
  if (text.empty()) return otherwise;
  const traces::RegionBound bound = traces::parse_region_bound(text);
  if (bound.kind != traces::RegionBound::Kind::kInstructions)
    throw UserError(fmt::format("\"{}\": simrun sim takes instruction counts", text), 2);
  return bound.count;
}

struct Memory {
  TraceMemory& of;
  bool is_there;
};

struct Span {
  uint64_t from, to;  // instructions of the trace
};

// A trace's references in `span` into `model`, with the memory as it is there
// or before its first chunk. What was counted goes into `result`, if there is one.
template <class Inner>
void replay_into(const SimOptions& o, const traces::Reader& trace, const Span& span, sim::Hierarchy& model,
                 Memory memory, Progress& progress, RunResult* result) {
  Inner model_sink(model, memory.of.names());
  TraceModelSink<Inner> sink(model_sink, trace, model.cores(), memory.of, memory.is_there);
  traces::Replay<TraceModelSink<Inner>> replay(trace, sink, model.line_bytes(), o.selection);
  sink.set_instructions([&](uint32_t thread) { return replay.threads().at(thread).counts.instructions; });
  replay_all(trace, replay, span.from, span.to, progress);
  if (result == nullptr) return;
  for (const auto& [index, thread] : replay.threads()) {
    sink.counts().end(index, thread.counts.instructions);
    result->threads.push_back(thread_report(thread));
    sink.counts().tell(result->threads.back());
  }
  if (sink.has_cores()) result->cores = sink.counts().reports(model.cores());
}

// The same for any machine. Prefetchers that go by instruction see the pc of each reference, as in a live run.
void simulate_span(const SimOptions& o, const traces::Reader& trace, const Span& span, sim::Hierarchy& model,
                   Memory memory, Progress& progress, RunResult* result) {
  if (o.details)
    replay_into<DetailedModelSink>(o, trace, span, model, memory, progress, result);
  else if (model.wants_pc())
    replay_into<PcModelSink<sim::Hierarchy>>(o, trace, span, model, memory, progress, result);
  else
    replay_into<ModelSink>(o, trace, span, model, memory, progress, result);
}

void check_selection(const traces::Reader& trace, const traces::ReplaySelection& s) {
  if (s.process >= static_cast<int64_t>(trace.processes()))
    throw UserError(fmt::format("{} has no process {}: {} to {}", trace.path(), s.process, 0, trace.processes() - 1));
  if (s.thread < 0) return;
  for (const traces::ChunkInfo& chunk : trace.chunks())
    for (const traces::PartInfo& part : chunk.parts)
      if (part.thread == s.thread && (s.process < 0 || part.process == s.process)) return;
  if (trace.incomplete().empty())  // else there is no index to ask
    throw UserError(
        fmt::format("{} has no thread {}{}", trace.path(), s.thread, s.process < 0 ? "" : " in that process"));
}

// Where to count, and from where to warm up.
struct Spans {
  Span warm_up, counted;
};

Spans spans_of(const SimOptions& o, const traces::Reader& trace) {
  const uint64_t begin = instruction_bound(o.from, 0);
  const bool by_region = !o.state.empty() || o.warm_up == "region";
  const uint64_t from = begin + (by_region ? warm_up_of_region(trace) : instruction_bound(o.warm_up, 0));
  const uint64_t to = instruction_bound(o.to, std::numeric_limits<uint64_t>::max());
  if (from >= to) throw UserError("--to must lie behind --from", 2);
  if (trace.chunks().empty() || from >= trace.instructions())
    throw UserError(fmt::format("{} holds {} instructions: nothing to simulate", o.trace, trace.instructions()));
  return {{begin, from}, {from, to}};
}

RunResult simulate(const SimOptions& o) {
  const auto start = std::chrono::steady_clock::now();
  const traces::Reader trace(o.trace);
  const Spans spans = spans_of(o, trace);
  check_selection(trace, o.selection);
  sim::MachineConfig machine = configs::read_machine(o.config);
  sim::Hierarchy model(machine);
  Progress progress(!o.quiet);
  const bool warms_up = o.state.empty() && spans.warm_up.from != spans.warm_up.to;
  TraceMemory memory(trace, trace.chunk_of(warms_up ? spans.warm_up.from : spans.counted.from));
  if (!o.state.empty()) {
    read_state(o.state, model);
  } else if (warms_up) {
    sim::Hierarchy before(machine);
    simulate_span(o, trace, spans.warm_up, before, {memory, false}, progress, nullptr);
    model.set_state(before.state());
  }
  RunResult result;
  simulate_span(o, trace, spans.counted, model, {memory, warms_up}, progress, &result);
  progress.clear();
  if (o.details) {
    TraceSymbols symbols(trace);
    result.hot_spots = find_hot_spots(model, symbols, o.top);
  }
  read_trace_summary(trace.information(), trace.summary(), result);
  if (!trace.incomplete().empty()) result.warnings.push_back(fmt::format("{}: {}", o.trace, trace.incomplete()));
  result.machine = std::move(machine);
  result.caches = model.statistics();
  result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace

int sim_command(const Words& words) {
  const SimOptions options = parse(words);
  std::optional<OutputFile> json;
  if (!options.json_file.empty()) json.emplace(options.json_file);
  const RunResult result = simulate(options);
  for (const std::string& warning : result.warnings) print_error("simrun: warning: {}\n", warning);
  if (!options.quiet) print_error("{}", text_report(result));
  if (json) json->commit(json_report(result).dump(2) + "\n");
  return 0;
}

}  // namespace simrun::cli
