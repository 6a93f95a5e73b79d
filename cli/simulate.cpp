#include "cli/simulate.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <type_traits>

#include "cli/hot_spots.h"
#include "cli/memory_trace.h"
#include "cli/model_sink.h"
#include "cli/run_program.h"
#include "cli/run_watch.h"
#include "cli/sharing_sink.h"
#include "cli/slices_sink.h"
#include "configs/read_machine.h"
#include "configs/sweep_machines.h"
#include "instr/channel/stream_error.h"
#include "sim/curves/curve_model.h"
#include "sim/parallel/model_sweep.h"
#include "sim/parallel/sliced_model.h"
#include "sim/stats/broken_law.h"

namespace simrun::cli {

namespace {

// Runs the program into `model`. Null: nothing is watched, or written of its memory.
template <class Model>
RunResult run_into(Model& model, RunWatch* watch, MemoryTrace* memory_trace, const RunOptions& options) {
  ProgramOptions program = options.program;
  program.name_memory = true;
  ProgramRun run(program, border::Mode::kTrace);
  RunResult result;
  if constexpr (std::is_same_v<Model, sim::Hierarchy>) {
    if (memory_trace != nullptr) {
      MemoryTraceSink sink(model, watch, &run.family());
      sink.write_to(*memory_trace);
      return run.into(sink, model.line_bytes(), model.cores());
    }
  }
  if constexpr (std::is_same_v<Model, sim::SlicedModel>) {
    SlicesSink sink(model, watch, &run.family());
    result = run.into(sink, model.line_bytes(), model.cores());
  } else if (model.wants_pc()) {
    PcModelSink<Model> sink(model, watch, &run.family());
    result = run.into(sink, model.line_bytes(), model.cores());
  } else {
    BasicModelSink<Model> sink(model, watch, &run.family());
    result = run.into(sink, model.line_bytes(), model.cores());
  }
  return result;
}

// What a watch found at the end belongs to the result as what it found before.
void finish(RunWatch& watch, RunResult& result) {
  try {
    watch.finish();
  } catch (const channel::StreamError& error) {
    if (result.error.empty()) result.error = error.what();
  }
  result.intervals = watch.intervals();
}

template <class Model>
RunResult simulate_one(Model& model, const sim::MachineConfig& machine, const RunOptions& options, MemoryTrace* memory_trace = nullptr) {
  RunWatch watch(machine,
                 {[&] { return model.statistics(); }, [&](std::string* why) { return model.check_invariants(why); }},
                 options.interval, options.check);
  RunResult result = run_into(model, &watch, memory_trace, options);
  finish(watch, result);
  result.machine = machine;
  result.caches = model.statistics();
  return result;
}

RunResult simulate_with_details(const sim::MachineConfig& machine, const RunOptions& options) {
  sim::Hierarchy model(machine);
  RunWatch watch(machine,
                 {[&] { return model.statistics(); }, [&](std::string* why) { return model.check_invariants(why); }},
                 options.interval, options.check);
  ProgramOptions program = options.program;
  program.watch_calls = program.attach.processes.empty();
  program.name_memory = true;
  ProgramRun run(program, border::Mode::kTrace);
  SharingSink sink(model, run.family(), &watch);
  RunResult result = run.into(sink, model.line_bytes(), model.cores());
  finish(watch, result);
  result.machine = machine;
  result.caches = model.statistics();
  result.hot_spots = find_hot_spots(sink, options.top);
  return result;
}

RunResult simulate_sweep(const RunOptions& options) {
  std::vector<sim::MachineConfig> machines;
  const std::vector<configs::SweptMachine> swept = configs::sweep_machines(options.config, options.sweeps);
  for (const configs::SweptMachine& s : swept) machines.push_back(s.machine);
  check_pins(options.program, machines[0].cores);
  const uint32_t threads = options.sim_threads != 0 ? options.sim_threads : std::thread::hardware_concurrency();
  sim::ModelSweep model(machines, std::max(threads, 1u));
  RunResult result = run_into(model, nullptr, nullptr, options);
  const std::vector<sim::Statistics> statistics = model.statistics();
  for (size_t i = 0; i < swept.size(); ++i) result.sweep.push_back({swept[i].settings, machines[i], statistics[i]});
  if (std::string why; options.check && !model.check_invariants(&why) && result.error.empty())
    result.error = "--check: the model is broken: " + why;
  for (size_t i = 0; options.check && i < machines.size() && result.error.empty(); ++i)
    if (const std::string why = sim::find_broken_law(machines[i], statistics[i]); !why.empty())
      result.error = "--check: the counts do not balance: " + why;
  return result;
}

}  // namespace

RunResult simulate(const RunOptions& options) {
  if (!options.sweeps.empty()) return simulate_sweep(options);
  const sim::MachineConfig machine = configs::read_machine(options.config);
  check_pins(options.program, machine.cores);
  if (options.details) return simulate_with_details(machine, options);
  if (!options.miss_curve.empty()) {
    sim::CurveModel model(machine, options.miss_curve);
    RunResult result = simulate_one(model, machine, options);
    result.miss_curve = model.curve();
    return result;
  }
  std::string obstacle;
  if (options.sim_threads > 1) {
    obstacle = sim::SlicedModel::find_obstacle(machine, options.sim_threads);
    if (obstacle.empty()) {
      sim::SlicedModel model(machine, options.sim_threads);
      return simulate_one(model, machine, options);
    }
  }
  sim::Hierarchy model(machine);
  std::optional<MemoryTrace> memory_trace;
  if (!options.memory_trace.file.empty()) model.tell_of_memory(&memory_trace.emplace(options.memory_trace, machine));
  RunResult result = simulate_one(model, machine, options, memory_trace ? &*memory_trace : nullptr);
  if (memory_trace) memory_trace->finish(result);
  if (!obstacle.empty()) result.warnings.push_back("simulated by one thread: " + obstacle);
  return result;
}

}  // namespace simrun::cli
