// `simrun sim`: a recorded trace through a cache model; the numbers are those of the live run.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <optional>

#include "base/user_error.h"
#include "cli/command_line.h"
#include "cli/core_counts.h"
#include "cli/json_report.h"
#include "cli/model_sink.h"
#include "cli/output_file.h"
#include "cli/phases/stored_state.h"
#include "cli/print_error.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/sub_commands.h"
#include "cli/trace_cores.h"
#include "cli/trace_information.h"
#include "configs/read_machine.h"
#include "sim/hierarchy.h"
#include "traces/region.h"
#include "traces/replay.h"

namespace simrun::cli {

namespace {

struct SimOptions {
  std::string trace, config, json_file, from, to, state, warm_up;
  bool quiet = false;
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
  line.app().add_option("--warm-up", o.warm_up,
                        "Instructions that warm the caches and are not counted; region: what lies before the region in a\n"
                        "trace of simrun pinpoints (default: none, all is counted)")
      ->type_name("N|region");
  line.app().add_option("--state", o.state,
                        "Begin with the caches as they are in this file, which simrun pinpoints --snapshots stored for this\n"
                        "machine, behind the warm-up of the trace")
      ->type_name("FILE");
  line.app().add_flag("-q,--quiet", o.quiet, "No report and no progress line; warnings and errors only");
  line.parse(words);
  if (!o.state.empty() && !(o.warm_up.empty() && o.from.empty()))
    line.usage_error("--state says where to begin: without --from and --warm-up");
  return o;
}

// ModelSink in the terms of traces/. Threads are on the cores that the trace says for a machine of as many, else on their own.
class TraceModelSink {
 public:
  TraceModelSink(ModelSink& sink, const traces::Reader& trace, uint32_t cores)
      : sink_(sink), follows_(recorded_cores(trace.information()) == cores) {
    if (!follows_) own_cores_ = cores_of_threads(trace.summary(), cores);
  }
  // Instructions that a thread has retired.
  void set_instructions(std::function<uint64_t(uint32_t)> instructions) { instructions_ = std::move(instructions); }

  uint32_t start_thread(uint32_t thread, uint32_t process, uint32_t tid) {
    channel::ThreadReport report = report_of(thread, process);
    report.tid = tid;
    if (follows_) return sink_.start_thread(report);  // its core follows
    if (const auto own = own_cores_.find(thread); own != own_cores_.end()) {
      report.core = own->second;
      counts_.put(thread, report.core, true, 0);
    }
    return sink_.start_thread(report);
  }
  std::optional<uint32_t> run_on(uint32_t thread, uint32_t process, uint32_t core, bool is_new_there) {
    if (!follows_) return {};
    channel::ThreadReport report = report_of(thread, process);
    report.core = core;
    counts_.put(thread, core, is_new_there, instructions_(thread));
    return sink_.run_on(report);
  }
  void fetch(uint32_t handle, uint64_t line) { sink_.fetch(handle, line); }
  void data(uint32_t handle, traces::ReferenceKind kind, uint64_t address, uint32_t bytes) {
    static_assert(static_cast<int>(channel::ReferenceKind::kNonTemporalStore) ==
                  static_cast<int>(traces::ReferenceKind::kNonTemporalStore));
    sink_.data(handle, static_cast<channel::ReferenceKind>(kind), address, bytes);
  }
  CoreCounts& counts() { return counts_; }
  bool has_cores() const { return follows_ || !own_cores_.empty(); }

 private:
  static channel::ThreadReport report_of(uint32_t thread, uint32_t process) {
    channel::ThreadReport report;
    report.index = report.core = thread;
    report.process = process;
    return report;
  }

  ModelSink& sink_;
  bool follows_;
  std::map<uint32_t, uint32_t> own_cores_;
  CoreCounts counts_;
  std::function<uint64_t(uint32_t)> instructions_;
};

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

// The next chunk is decoded while this one is simulated.
template <class Replay>
void replay_all(const traces::Reader& trace, Replay& replay, uint64_t from, uint64_t to, Progress& progress) {
  size_t at = trace.chunk_of(from);
  const auto fetch = [&](size_t index) {
    return std::async(std::launch::async, [&trace, index] { return trace.read_chunk(index); });
  };
  std::future<traces::Chunk> next;
  if (at < trace.chunks().size()) next = fetch(at);
  uint64_t instructions = 0;
  for (; at < trace.chunks().size() && !replay.over(); ++at) {
    const traces::Chunk chunk = next.get();
    if (at + 1 < trace.chunks().size()) next = fetch(at + 1);
    try {
      replay.run(chunk, from, to);
    } catch (const traces::FormatError& error) {
      if (next.valid()) next.wait();
      throw traces::TraceError(trace.path(), trace.chunks()[at].section.offset, error.what());
    }
    instructions += chunk.instructions;
    if (progress.due()) progress.show(instructions, 0, chunk.threads.size());
  }
  if (next.valid()) next.wait();
  if (!replay.over()) trace.require_undamaged();
}

uint64_t instruction_bound(const std::string& text, uint64_t otherwise) {
  if (text.empty()) return otherwise;
  const traces::RegionBound bound = traces::parse_region_bound(text);
  if (bound.kind != traces::RegionBound::Kind::kInstructions)
    throw UserError(fmt::format("\"{}\": simrun sim takes instruction counts", text), 2);
  return bound.count;
}

// Instructions before the region, in a trace of one.
uint64_t warm_up_of_region(const traces::Reader& trace) {
  const auto region = trace.summary().is_object() ? trace.summary().find("region") : trace.summary().end();
  if (!trace.summary().is_object() || region == trace.summary().end() || !region->contains("warm_up") ||
      !(*region)["warm_up"].is_number_unsigned())
    throw UserError(trace.path() + " is not the trace of a region: it does not say what its warm-up is");
  return (*region)["warm_up"].get<uint64_t>();
}

// Lets the instructions [from, to) warm up `model`, which then has counted nothing.
void warm(const traces::Reader& trace, uint64_t from, uint64_t to, sim::Hierarchy& model, Progress& progress) {
  sim::Hierarchy before(model.config());
  ModelSink model_sink(before);
  TraceModelSink sink(model_sink, trace, before.cores());
  traces::Replay<TraceModelSink> replay(trace, sink, before.line_bytes());
  sink.set_instructions([&](uint32_t thread) { return replay.threads().at(thread).counts.instructions; });
  replay_all(trace, replay, from, to, progress);
  model.set_state(before.state());
}

RunResult simulate(const SimOptions& o) {
  const auto start = std::chrono::steady_clock::now();
  const traces::Reader trace(o.trace);
  uint64_t from = instruction_bound(o.from, 0);
  const uint64_t begin = from;
  if (!o.state.empty() || o.warm_up == "region")
    from += warm_up_of_region(trace);
  else
    from += instruction_bound(o.warm_up, 0);
  const uint64_t to = instruction_bound(o.to, std::numeric_limits<uint64_t>::max());
  if (from >= to) throw UserError("--to must lie behind --from", 2);
  if (trace.chunks().empty() || from >= trace.instructions())
    throw UserError(fmt::format("{} holds {} instructions: nothing to simulate", o.trace, trace.instructions()));
  sim::MachineConfig machine = configs::read_machine(o.config);
  sim::Hierarchy model(machine);
  ModelSink model_sink(model);
  TraceModelSink sink(model_sink, trace, model.cores());
  Progress progress(!o.quiet);
  if (!o.state.empty())
    read_state(o.state, model);
  else if (from != begin)
    warm(trace, begin, from, model, progress);
  traces::Replay<TraceModelSink> replay(trace, sink, model.line_bytes());
  sink.set_instructions([&](uint32_t thread) { return replay.threads().at(thread).counts.instructions; });
  replay_all(trace, replay, from, to, progress);
  progress.clear();

  RunResult result;
  for (const auto& [index, thread] : replay.threads()) {
    sink.counts().end(index, thread.counts.instructions);
    result.threads.push_back(thread_report(thread));
    sink.counts().tell(result.threads.back());
  }
  if (sink.has_cores()) result.cores = sink.counts().reports(model.cores());
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
