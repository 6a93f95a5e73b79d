#include "cli/print_error.h"
#include "cli/run_command.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>

#include "cli/json_report.h"
#include "cli/model_sink.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/run_result.h"
#include "cli/stream_consumer.h"
#include "cli/terminal_signals.h"
#include "configs/read_machine.h"
#include "instr/channel/counting_sink.h"
#include "instr/host/launch.h"
#include "sim/hierarchy.h"

namespace simrun::cli {

namespace {

using Clock = std::chrono::steady_clock;

host::LaunchOptions launch_options(const RunOptions& o) {
  host::LaunchOptions l;
  l.command = o.command;
  l.aslr = o.aslr;
  l.mode = o.mode == RunMode::kNull ? border::Mode::kNull : border::Mode::kTrace;
  l.ring_bytes = o.ring_bytes;
  l.ring_chunk_bytes = ring_chunk_bytes(o.ring_bytes);
  l.code_cache_bytes = o.code_cache_bytes;
  l.max_superblock_instructions = o.max_superblock_instructions;
  l.link_superblocks = o.link_superblocks;
  l.elide_words = o.elide_words;
  l.force_safe_points = o.force_safe_points;
  return l;
}

EngineCounts engine_counts(const border::ProcessHeader& header) {
  const border::EngineStatistics& s = header.statistics;
  return {.superblocks = s.superblocks,
          .translated_instructions = s.translated_instructions,
          .code_bytes = s.code_bytes,
          .links = s.links,
          .dispatches_new = s.dispatches_new,
          .dispatches_link = s.dispatches_link,
          .dispatches_indirect = s.dispatches_indirect,
          .dispatches_syscall = s.dispatches_syscall,
          .dispatches_check = s.dispatches_check,
          .dispatches_other = s.dispatches_other,
          .signals = s.signals,
          .faults = s.faults,
          .flushes = s.flushes,
          .translation_seconds = static_cast<double>(s.translation_nanoseconds) / 1e9,
          .paths = header.paths};
}

void consume(const RunOptions& options, host::Target& target, sim::Hierarchy* model, RunResult& result) {
  const channel::MappedProcess process(target.mapping());
  Progress progress(!options.quiet);
  StreamConsumer consumer(target, process, progress);
  channel::MergeOptions merge;
  merge.quantum = options.quantum;
  if (model != nullptr) {
    merge.line_bytes = model->line_bytes();
    ModelSink sink(*model);
    consumer.run(sink, merge, result);
  } else if (options.mode == RunMode::kTrace && !options.discard) {
    channel::CountingSink sink;
    consumer.run(sink, merge, result);
  } else {
    result.counted = false;
    consumer.drain(result);
  }
}

// After the streams: the end of the program itself, which may go on natively for a while (exec).
void take_end(host::Target& target, RunResult& result) {
  while (target.running()) {
    const timespec t{0, 1'000'000};
    nanosleep(&t, nullptr);
  }
  const int status = target.wait_status();
  if (WIFSIGNALED(status))
    result.signal = WTERMSIG(status);
  else
    result.exit_code = WEXITSTATUS(status);
  const border::ProcessHeader& header = target.header();
  if (header.engine_state == 3 && result.error.empty())
    result.error = fmt::format("the engine gave up: {:.{}}", header.failure, sizeof header.failure - 1);
  result.engine = engine_counts(header);
}

void report(const RunOptions& options, const RunResult& result, OutputFile* json) {
  for (const std::string& warning : result.warnings) print_error("simrun: warning: {}\n", warning);
  if (!result.error.empty()) print_error("simrun: error: {}\n", result.error);
  if (!options.quiet || result.show_engine)
    print_error("{}", options.quiet ? engine_report(result) : text_report(result));
  std::fflush(stderr);
  if (json != nullptr) json->commit(json_report(result).dump(2) + "\n");
}

}  // namespace

int run_command(const RunOptions& options) {
  RunResult result;
  result.command = options.command;
  result.mode = options.mode;
  result.show_engine = options.engine_statistics;
  std::unique_ptr<sim::Hierarchy> model;
  if (options.mode == RunMode::kSim) {
    result.machine = configs::read_machine(options.config);
    model = std::make_unique<sim::Hierarchy>(*result.machine);
  }
  std::optional<OutputFile> json;
  if (!options.json_file.empty()) json.emplace(options.json_file);
  prctl(PR_SET_TIMERSLACK, 1000ul);  // naps of tens of microseconds are meant

  install_signal_handlers();
  result.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  const auto start = Clock::now();
  const std::unique_ptr<host::Target> target = host::launch(launch_options(options));
  result.warnings = target->warnings();
  consume(options, *target, model.get(), result);
  take_end(*target, result);
  result.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (model) result.caches = model->statistics();

  report(options, result, json ? &*json : nullptr);
  if (result.signal != 0) end_by_signal(result.signal);
  return result.error.empty() ? result.exit_code : 1;
}

}  // namespace simrun::cli
