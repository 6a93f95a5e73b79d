#include "cli/simulate.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <thread>
#include <type_traits>

#include "cli/hot_spots.h"
#include "cli/memory_trace.h"
#include "cli/model_sink.h"
#include "cli/run_program.h"
#include "cli/run_watch.h"
#include "cli/run_window.h"
#include "cli/sharing_sink.h"
#include "cli/slices_sink.h"
#include "cli/sweep_sink.h"
#include "configs/read_machine.h"
#include "configs/sweep_machines.h"
#include "instr/channel/stream_error.h"
#include "sim/curves/curve_model.h"
#include "sim/parallel/model_sweep.h"
#include "sim/parallel/sliced_model.h"
#include "sim/stats/broken_law.h"

namespace simrun::cli {

namespace {

ProgramOptions program_options(const RunOptions& options) {
  ProgramOptions program = options.program;
  program.name_memory = true;
  program.watch_mappings = options.region.any();  // for bounds in the code
  return program;
}

// The run's window into `sink`. `on_begin`: when the caches are warm, if they are to be.
template <class Model, class Sink>
RunResult run_window(ProgramRun& run, const RunOptions& options, const Model& model, Sink& sink, std::function<void()> on_begin) {
  RunWindow window(options.region, options.warm_up, run.family());
  if (options.warm_up != 0) window.set_on_begin(std::move(on_begin));
  WindowSink<Sink> in_window(sink, window);
  RunResult result = run.into(in_window, model.line_bytes(), model.cores());
  in_window.finish();
  window.finish(result, model.cores());
  return result;
}

// Runs the program into `model`. Null: nothing is watched, or written of its memory.
template <class Model>
RunResult run_into(Model& model, RunWatch* watch, MemoryTrace* memory_trace, const RunOptions& options, const std::function<void()>& on_begin) {
  ProgramRun run(program_options(options), border::Mode::kTrace);
  const auto into = [&](auto&& sink) { return run_window(run, options, model, sink, on_begin); };
  if constexpr (std::is_same_v<Model, sim::Hierarchy>) {
    if (memory_trace != nullptr) {
      MemoryTraceSink sink(model, watch, &run.family());
      sink.write_to(*memory_trace);
      return into(sink);
    }
  }
  if constexpr (std::is_same_v<Model, sim::SlicedModel>) return into(SlicesSink(model, watch, &run.family()));
  if constexpr (std::is_same_v<Model, sim::ModelSweep>) {
    return into(SweepSink(model, &run.family()));
  } else {
    if (model.wants_pc()) return into(PcModelSink<Model>(model, watch, &run.family()));
    return into(BasicModelSink<Model>(model, watch, &run.family()));
  }
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
  CountedSince counted;
  RunResult result = run_into(model, &watch, memory_trace, options, [&] {
    counted.begin(model.statistics());
    watch.begin();
    if constexpr (std::is_same_v<Model, sim::Hierarchy>)
      if (memory_trace != nullptr) memory_trace->begin(), model.tell_of_memory(memory_trace);
  });
  finish(watch, result);
  result.machine = machine;
  result.caches = counted.of(model.statistics());
  return result;
}

RunResult simulate_with_details(const sim::MachineConfig& machine, const RunOptions& options) {
  sim::Hierarchy model(machine);
  RunWatch watch(machine,
                 {[&] { return model.statistics(); }, [&](std::string* why) { return model.check_invariants(why); }},
                 options.interval, options.check);
  ProgramOptions program = program_options(options);
  program.watch_calls = program.attach.processes.empty();
  ProgramRun run(program, border::Mode::kTrace);
  SharingSink sink(model, run.family(), &watch);
  RunResult result = run_window(run, options, model, sink, {});
  finish(watch, result);
  result.machine = machine;
  result.caches = model.statistics();
  result.hot_spots = find_hot_spots(sink, options.top);
  return result;
}

RunResult simulate_sweep(const RunOptions& options) {
  std::vector<sim::MachineConfig> machines;
  const std::vector<configs::SweptMachine> swept = configs::sweep_machines(options.machines.configs, options.machines.sweeps);
  for (const configs::SweptMachine& s : swept) machines.push_back(s.machine);
  check_pins(options.program, machines[0].cores);
  const uint32_t threads = options.sim_threads != 0 ? options.sim_threads : std::thread::hardware_concurrency();
  sim::ModelSweep model(machines, std::max(threads, 1u));
  std::vector<CountedSince> counted(swept.size());
  RunResult result = run_into(model, nullptr, nullptr, options, [&] {
    std::vector<sim::Statistics> warm = model.statistics();
    for (size_t i = 0; i < warm.size(); ++i) counted[i].begin(std::move(warm[i]));
  });
  const std::vector<sim::Statistics> statistics = model.statistics();
  for (size_t i = 0; i < swept.size(); ++i) result.sweep.push_back({swept[i].settings, machines[i], counted[i].of(statistics[i])});
  if (std::string why; options.check && !model.check_invariants(&why) && result.error.empty())
    result.error = "--check: the model is broken: " + why;
  for (size_t i = 0; options.check && i < machines.size() && result.error.empty(); ++i)
    if (const std::string why = sim::find_broken_law(machines[i], statistics[i]); !why.empty())
      result.error = "--check: the counts do not balance: " + why;
  return result;
}

}  // namespace

RunResult simulate(const RunOptions& options) {
  if (options.machines.are_many()) return simulate_sweep(options);
  const sim::MachineConfig machine = configs::read_machine(options.machines.configs[0]);
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
  if (!options.memory_trace.file.empty()) memory_trace.emplace(options.memory_trace, machine);
  if (memory_trace && options.warm_up == 0) model.tell_of_memory(&*memory_trace);
  RunResult result = simulate_one(model, machine, options, memory_trace ? &*memory_trace : nullptr);
  if (memory_trace) memory_trace->finish(result);
  if (!obstacle.empty()) result.warnings.push_back("simulated by one thread: " + obstacle);
  return result;
}

}  // namespace simrun::cli
