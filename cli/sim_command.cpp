// `simrun sim`: a recorded trace through a cache model; the numbers are those of the live run.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>
#include <type_traits>

#include "base/user_error.h"
#include "cli/command_line.h"
#include "cli/detailed_sink.h"
#include "cli/empty_selection.h"
#include "cli/hot_spots.h"
#include "cli/interruption.h"
#include "cli/machine_options.h"
#include "cli/memory_trace.h"
#include "cli/phases/replay_region.h"
#include "cli/phases/stored_state.h"
#include "cli/print_error.h"
#include "cli/progress.h"
#include "cli/replay_chunks.h"
#include "cli/report.h"
#include "cli/result_files.h"
#include "cli/run_watch.h"
#include "cli/slices_sink.h"
#include "cli/sub_commands.h"
#include "cli/sweep_sink.h"
#include "cli/terminal_signals.h"
#include "cli/trace_information.h"
#include "cli/trace_model_sink.h"
#include "cli/trace_symbols.h"
#include "configs/read_machine.h"
#include "configs/sweep_machines.h"
#include "sim/curves/curve_model.h"
#include "sim/hierarchy.h"
#include "sim/parallel/model_sweep.h"
#include "sim/parallel/sliced_model.h"
#include "sim/stats/broken_law.h"
#include "traces/region.h"

namespace simrun::cli {

namespace {

struct SimOptions {
  std::string trace, from, to, state, warm_up, miss_curve;
  ResultFileNames results;
  MachineOptions machines;
  uint32_t sim_threads = 0;  // 0: not given
  uint64_t interval = 0;
  bool details = false, check = false;
  size_t top = 20;
  MemoryTraceOptions memory_trace;
  bool quiet = false;
  traces::ReplaySelection selection;
};

void add_model_options(CLI::App& app, SimOptions& o) {
  app.add_option("--sim-threads", o.sim_threads, "Host threads that simulate: one machine in slices, or a sweep")
      ->transform(whole_number(1, 256))
      ->type_name("N");
  app.add_option("--miss-curve", o.miss_curve, "Misses of every size of a level (L1D, L2, ...), fully associative; of one machine, by one thread, without --details")
      ->type_name("LEVEL");
  app.add_option("--interval", o.interval, "Counts over time, in the result files: for each N instructions of all threads (1000 or more); of one machine")
      ->transform(instruction_count(kShortestInterval, kLongestInterval))
      ->type_name("N");
  add_memory_trace_options(app, o.memory_trace);
  app.add_flag("--check", o.check, "Check the model's state and balances at the end");
}

void check_model_options(const CommandLine& line, const SimOptions& o) {
  const bool from_elsewhere = !o.state.empty() || !o.warm_up.empty();
  if (o.details && from_elsewhere)
    line.usage_error("--details tells what became of each line from the start: without --state and --warm-up");
  const bool in_one_thread = !o.machines.are_many() && o.miss_curve.empty() && o.sim_threads <= 1;
  if (!in_one_thread && (o.details || !o.state.empty()))
    line.usage_error("several --config, --sim-threads, --sweep and --miss-curve go without --details and --state");
  if (!o.miss_curve.empty() && from_elsewhere)
    line.usage_error("--miss-curve tells what became of each line from the start: without --warm-up");
  check_memory_trace_options(line, o.memory_trace, in_one_thread && !o.details);
  if (!o.miss_curve.empty() && (o.machines.are_many() || o.sim_threads > 1))
    line.usage_error("--miss-curve is of one machine, made by one thread");
  if (o.interval != 0 && (o.machines.are_many() || !o.miss_curve.empty()))
    line.usage_error("--interval goes without --sweep, several --config and --miss-curve");
  if (o.interval != 0 && !o.results.any())
    line.usage_error("--interval is not in the report: it goes with --json, --hdf5, --csv or --html");
  if (line.has("--top") && !o.details) line.usage_error("--top goes with --details");
}

SimOptions parse_sim(const Words& words) {
  SimOptions o;
  CommandLine line("simrun sim", "simrun sim FILE --config MACHINE [OPTIONS]",
                   "Simulates a recorded trace in the order in which it was recorded: the results equal those of the\n"
                   "run that recorded it. Ctrl-C ends it with the results so far.");
  line.app().add_option("FILE", o.trace, "A trace of simrun record")->required()->type_name("FILE");
  add_machine_options(line.app(), o.machines, "Machine to simulate", "Options")->required();
  add_result_file_options(line.app(), o.results);
  add_model_options(line.app(), o);
  line.app()
      .add_option("--from", o.from, "Start at this instruction of the trace, or with the first superblock that begins behind it")
      ->type_name("N");
  line.app().add_option("--to", o.to, "End at this instruction, or behind the superblock that it is in")->type_name("N");
  line.app()
      .add_option("--warm-up", o.warm_up,
                  "Instructions that warm the caches and are not counted, up to the end of a superblock; region: what\n"
                  "lies before the region in a trace of simrun pinpoints (default: none, all is counted)")
      ->type_name("N|region");
  line.app()
      .add_option("--state", o.state,
                  "Begin with the caches as they are in this file, which simrun pinpoints --snapshots stored for this\n"
                  "machine, behind the warm-up of the trace")
      ->type_name("FILE");
  line.app()
      .add_option("--thread", o.selection.thread,
                  "Only this thread (simrun info lists them); --from and --to count all")
      ->transform(whole_number(0, std::numeric_limits<uint32_t>::max()))
      ->type_name("N");
  line.app()
      .add_option("--process", o.selection.process, "Only this process")
      ->transform(whole_number(0, std::numeric_limits<uint32_t>::max()))
      ->type_name("N");
  line.app().add_flag(
      "--details", o.details,
      "Also misses by class, lifetimes of lines, reuse distances, and which instructions and lines miss\n"
      "most (slow)");
  line.app()
      .add_option("-n,--top", o.top, "With --details: functions, instructions and lines to name")
      ->transform(whole_number(0, 1u << 20))
      ->type_name("N")
      ->capture_default_str();
  line.app().add_flag("-q,--quiet", o.quiet, "No report and no progress line; warnings and errors only");
  line.parse(words);
  if (!o.state.empty() && !(o.warm_up.empty() && o.from.empty()))
    line.usage_error("--state says where to begin: without --from and --warm-up");
  check_model_options(line, o);
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

// Who is told of lines.
struct Told {
  LinePlaces* places = nullptr;  // with --details: which lines the model's are
  MemoryTrace* trace = nullptr;  // what reaches the model's memory; null: nobody wants it
};
struct Memory {
  TraceMemory& of;
  bool is_there;
  Told told;
};

// Of each line that misses, who has it where: names of shared memory do not say.
class PlacesOfLines final : public sim::SiteObserver {
 public:
  PlacesOfLines(const DetailedModelSink& sink, uint32_t line_bytes, LinePlaces& places)
      : sink_(sink), line_bytes_(line_bytes), places_(places) {}
  void new_site(const sim::LineRecord&, uint32_t) override {}
  void missed(const sim::Miss& miss) override {
    const uint64_t line = miss.line.line;
    if (miss.line.misses[0] <= 1) places_.try_emplace(line, sink_.process_now(), sink_.address_of(line * line_bytes_));
  }

 private:
  const DetailedModelSink& sink_;
  const uint64_t line_bytes_;
  LinePlaces& places_;
};

struct Span {
  uint64_t from, to;  // instructions of the trace
};

// The counts of `model` over time, if there is somebody who asks and a model that has them.
template <class Model, class Replay>
void watch_intervals(const SimOptions& o, Model& model, Replay& replay, const RunResult* result,
                     std::optional<RunWatch>& watch) {
  if constexpr (std::is_same_v<decltype(model.statistics()), sim::Statistics>) {
    if (o.interval == 0 || result == nullptr) return;
    watch.emplace(*result->machine, RunWatch::Model{[&model] { return model.statistics(); }, nullptr}, o.interval, false);
    watch->begin();
    replay.set_look(watch->next(), [&watch](uint64_t replayed) {
      watch->advance(replayed - watch->done());
      return watch->next();
    });
  }
}

// A trace's references in `span` into `model`, with the memory as it is there
// or before its first chunk. What was counted goes into `result`, if there is one.
template <class Inner, class Model>
void replay_into(const SimOptions& o, const traces::Reader& trace, const Span& span, Model& model, Memory memory,
                 Progress& progress, RunResult* result) {
  Inner model_sink(model, memory.of.names());
  if constexpr (std::is_same_v<Inner, MemoryTraceSink>) model_sink.write_to(*memory.told.trace);
  TraceModelSink<Inner> sink(model_sink, trace, model.cores(), model.line_bytes(), memory.of, memory.is_there);
  traces::Replay<TraceModelSink<Inner>> replay(trace, sink, model.line_bytes(), o.selection);
  std::optional<PlacesOfLines> places;
  if constexpr (std::is_same_v<Inner, DetailedModelSink>) {
    places.emplace(model_sink, model.line_bytes(), *memory.told.places);
    model.tell_of_sites(&*places);
  }
  sink.set_instructions([&](uint32_t thread) { return replay.threads().at(thread).counts.instructions; });
  std::optional<RunWatch> watch;
  watch_intervals(o, model, replay, result, watch);
  const bool stopped = replay_all(trace, replay, span.from, span.to, progress, [] { return Interruption::signal() != 0; });
  if constexpr (std::is_same_v<Inner, DetailedModelSink>) model.tell_of_sites(nullptr);
  if (result == nullptr) return;
  if (stopped)
    result->error = fmt::format("ended by signal {}: these are the first {} of {} instructions", Interruption::signal(), grouped(replay.replayed()),
                                grouped(std::min(span.to, trace.instructions()) - span.from));
  if (watch) {
    watch->advance(replay.replayed() - watch->done());
    watch->finish();
    result->intervals = watch->intervals();
  }
  for (const auto& [index, thread] : replay.threads()) {
    sink.counts().end(index, thread.counts.instructions, core_of_thread(index, model.cores()));
    result->threads.push_back(thread_report(thread));
    sink.counts().tell(result->threads.back());
  }
  result->cores = sink.counts().reports(model.cores());
}

// The same for any machine. Prefetchers that go by instruction see the pc of each reference, as in a live run.
template <class Model>
void simulate_span(const SimOptions& o, const traces::Reader& trace, const Span& span, Model& model, Memory memory,
                   Progress& progress, RunResult* result) {
  if constexpr (std::is_same_v<Model, sim::Hierarchy>) {
    if (o.details) return replay_into<DetailedModelSink>(o, trace, span, model, memory, progress, result);
    if (memory.told.trace != nullptr) return replay_into<MemoryTraceSink>(o, trace, span, model, memory, progress, result);
  }
  if constexpr (std::is_same_v<Model, sim::SlicedModel>)
    replay_into<SlicesSink>(o, trace, span, model, memory, progress, result);
  else if constexpr (std::is_same_v<Model, sim::ModelSweep>)
    replay_into<SweepSink>(o, trace, span, model, memory, progress, result);
  else if (model.wants_pc())
    replay_into<PcModelSink<Model>>(o, trace, span, model, memory, progress, result);
  else
    replay_into<BasicModelSink<Model>>(o, trace, span, model, memory, progress, result);
}

void check_selection(const traces::Reader& trace, const traces::ReplaySelection& s) {
  if (s.process >= static_cast<int64_t>(trace.processes()))
    throw UserError(fmt::format("{} has no process {}: {} to {}", trace.path(), s.process, 0, trace.processes() - 1));
  if (s.thread < 0) return;
  for (const traces::ChunkInfo& chunk : trace.chunks())
    for (const traces::PartInfo& part : chunk.parts)
      if (part.thread == s.thread && (s.process < 0 || part.process == s.process)) return;
  if (trace.incomplete().empty() && !trace.damage())  // else there is no index to ask
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
  const uint64_t warm_up = by_region ? warm_up_of_region(trace) : instruction_bound(o.warm_up, 0);
  const uint64_t from = warm_up <= std::numeric_limits<uint64_t>::max() - begin ? begin + warm_up : std::numeric_limits<uint64_t>::max();
  const uint64_t to = instruction_bound(o.to, std::numeric_limits<uint64_t>::max());
  if (!o.to.empty() && from >= to)
    throw UserError(warm_up == 0 ? "--to must lie behind --from"
                                 : fmt::format("--to must lie behind the warm-up, which begins at --from and ends at instruction {}", from),
                    2);
  if (trace.chunks().empty() || from >= trace.instructions()) {
    trace.require_undamaged();
    throw UserError(fmt::format("{} holds {} instructions: nothing to simulate{}{}", o.trace, trace.instructions(),
                                trace.incomplete().empty() ? "" : "; ", trace.incomplete()));
  }
  return {{begin, from}, {from, to}};
}

template <class Model>
void check_model(const SimOptions& o, Model& model, RunResult& result) {
  if (std::string why; o.check && !model.check_invariants(&why)) result.error = "--check: the model is broken: " + why;
}

// What the machine counted since it was warm, and with --check whether it balances.
sim::Statistics take_counts(const SimOptions& o, const sim::MachineConfig& machine, const CountedSince& since, sim::Statistics counts,
                            RunResult& result) {
  if (o.check && result.error.empty() && o.state.empty())
    if (const std::string why = sim::find_broken_law(machine, counts); !why.empty())
      result.error = "--check: the counts do not balance: " + why;
  return since.of(std::move(counts));
}

void refuse_if_interrupted() {
  if (const int signal = Interruption::signal(); signal != 0)
    throw UserError(fmt::format("ended by signal {} before anything was counted", signal), 128 + signal);
}

// What is simulated, into a model with empty caches or, with --state, stored ones. `begin`: when it is warm.
template <class Model, class Begin>
void simulate_spans(const SimOptions& o, const traces::Reader& trace, const Spans& spans, Model& model, Told told, RunResult& result,
                    Begin begin) {
  Progress progress(!o.quiet);
  const bool warms_up = o.state.empty() && spans.warm_up.from != spans.warm_up.to;
  TraceMemory names(trace, trace.chunk_of(warms_up ? spans.warm_up.from : spans.counted.from));
  if (warms_up) {
    simulate_span(o, trace, spans.warm_up, model, {names, false, {}}, progress, nullptr);
    refuse_if_interrupted();
  }
  begin();
  simulate_span(o, trace, spans.counted, model, {names, warms_up, told}, progress, &result);
  progress.clear();
  check_model(o, model, result);
}

void simulate_sweep(const SimOptions& o, const traces::Reader& trace, const Spans& spans, RunResult& result) {
  std::vector<sim::MachineConfig> machines;
  const std::vector<configs::SweptMachine> swept = configs::sweep_machines(o.machines.configs, o.machines.sweeps);
  for (const configs::SweptMachine& s : swept) machines.push_back(s.machine);
  if (const std::string what = cores_lacking(trace, machines[0].cores); !what.empty()) result.warnings.push_back(what);
  const uint32_t threads = o.sim_threads != 0 ? o.sim_threads : std::thread::hardware_concurrency();
  sim::ModelSweep model(machines, std::max(threads, 1u));
  std::vector<CountedSince> since(swept.size());
  simulate_spans(o, trace, spans, model, {}, result, [&] {
    std::vector<sim::Statistics> warm = model.statistics();
    for (size_t i = 0; i < warm.size(); ++i) since[i].begin(std::move(warm[i]));
  });
  const std::vector<sim::Statistics> statistics = model.statistics();
  for (size_t i = 0; i < swept.size(); ++i)
    result.sweep.push_back({swept[i].settings, machines[i], take_counts(o, machines[i], since[i], statistics[i], result)});
}

// One machine, without what only sim::Hierarchy has.
template <class Model>
void simulate_machine(const SimOptions& o, const traces::Reader& trace, const Spans& spans, Model& model, const sim::MachineConfig& machine,
                      RunResult& result) {
  CountedSince since;
  simulate_spans(o, trace, spans, model, {}, result, [&] { since.begin(model.statistics()); });
  result.caches = take_counts(o, machine, since, model.statistics(), result);
}

// False: it is to be simulated by one thread, and a warning says why.
bool simulate_slices(const SimOptions& o, const traces::Reader& trace, const Spans& spans, const sim::MachineConfig& machine,
                     RunResult& result) {
  if (const std::string obstacle = sim::SlicedModel::find_obstacle(machine, o.sim_threads); !obstacle.empty()) {
    result.warnings.push_back("simulated by one thread: " + obstacle);
    return false;
  }
  sim::SlicedModel model(machine, o.sim_threads);
  simulate_machine(o, trace, spans, model, machine, result);
  return true;
}

void simulate_curve(const SimOptions& o, const traces::Reader& trace, const Spans& spans, const sim::MachineConfig& machine,
                    RunResult& result) {
  sim::CurveModel model(machine, o.miss_curve);
  simulate_machine(o, trace, spans, model, machine, result);
  result.miss_curve = model.curve();
}

// One machine by one thread, in whatever state it begins.
void simulate_one(const SimOptions& o, const traces::Reader& trace, const Spans& spans, const sim::MachineConfig& machine, RunResult& result) {
  sim::Hierarchy model(machine);
  if (!o.state.empty()) require_state_of_region(o.state, trace), read_state(o.state, model);
  LinePlaces places;
  std::optional<MemoryTrace> memory_trace;
  if (!o.memory_trace.file.empty()) memory_trace.emplace(o.memory_trace, machine);
  CountedSince since;
  simulate_spans(o, trace, spans, model, {&places, memory_trace ? &*memory_trace : nullptr}, result, [&] {
    if (!o.details) since.begin(model.statistics());
    if (memory_trace) memory_trace->begin(), model.tell_of_memory(&*memory_trace);
  });
  if (memory_trace) memory_trace->finish(result);
  if (o.details) {
    TraceSymbols symbols(trace);
    result.hot_spots = find_hot_spots(model, places, symbols, o.top);
  }
  result.caches = take_counts(o, machine, since, model.statistics(), result);
}

RunResult simulate(const SimOptions& o) {
  const auto start = std::chrono::steady_clock::now();
  const traces::Reader trace(o.trace);
  const Spans spans = spans_of(o, trace);
  check_selection(trace, o.selection);
  RunResult result;
  if (o.machines.are_many()) {
    simulate_sweep(o, trace, spans, result);
  } else {
    result.machine = configs::read_machine(o.machines.configs[0]);
    if (const std::string what = cores_lacking(trace, result.machine->cores); !what.empty()) result.warnings.push_back(what);
    if (!o.miss_curve.empty())
      simulate_curve(o, trace, spans, *result.machine, result);
    else if (o.sim_threads <= 1 || !simulate_slices(o, trace, spans, *result.machine, result))
      simulate_one(o, trace, spans, *result.machine, result);
  }
  if (result.totals().instructions == 0) refuse_if_interrupted();
  if (result.totals().instructions == 0) {
    traces::WalkOptions nothing;
    nothing.from = spans.counted.from, nothing.to = spans.counted.to;
    nothing.thread = o.selection.thread, nothing.process = o.selection.process;
    throw nothing_selected(trace, nothing);
  }
  read_trace_summary(trace.information(), trace.summary(), result);
  if (!trace.incomplete().empty()) {
    const std::string what = fmt::format("{}: {}", o.trace, trace.incomplete());
    if (spans.counted.to <= trace.instructions())
      result.warnings.push_back(what);  // all that was asked for is there
    else if (result.error.empty())
      result.error = what;
  }
  result.simulator_seconds = own_processor_seconds();
  result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace

int sim_command(const Words& words) {
  const SimOptions options = parse_sim(words);
  std::vector<NamedFile> others = {{"FILE", options.trace}, {"--memory-trace", options.memory_trace.file}};
  for (const std::string& config : options.machines.configs) others.push_back({"--config", config});
  ResultFiles files(options.results, std::move(others));
  const Interruption interruption;
  const RunResult result = simulate(options);
  const auto print = [&] {
    for (const std::string& warning : result.warnings) print_error("simrun: warning: {}\n", warning);
    if (!result.error.empty()) print_error("simrun: error: {}\n", result.error);
    if (!options.quiet) print_error("{}", text_report(result));
  };
  write_then_print([&] { files.commit(result); }, print);
  if (const int signal = Interruption::signal(); signal != 0) end_by_signal(signal);
  return result.error.empty() ? 0 : 1;
}

}  // namespace simrun::cli
