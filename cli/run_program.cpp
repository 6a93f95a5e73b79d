#include "cli/run_program.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <ctime>

#include "cli/terminal_signals.h"

namespace simrun::cli {

namespace {

host::LaunchOptions launch_options(const ProgramOptions& o, border::Mode mode, const CountOptions& count) {
  host::LaunchOptions l;
  l.command = o.command;
  l.aslr = o.aslr;
  l.mode = mode;
  l.ring_bytes = whole_chunks(o.ring_bytes);
  l.ring_chunk_bytes = ring_chunk_bytes(o.ring_bytes);
  l.code_cache_bytes = o.code_cache_bytes;
  l.described_superblocks = o.described_superblocks;
  l.max_superblock_instructions = o.max_superblock_instructions;
  l.link_superblocks = o.link_superblocks;
  l.elide_words = o.elide_words;
  l.unroll_loops = o.unroll_loops;
  l.base_instructions = o.base_instructions;
  l.live_words = o.recorded_order;
  l.force_safe_points = o.force_safe_points;
  l.protect_code_after = o.protect_code_after;
  l.drop_streams = o.discard;
  l.count_interval = count.interval;
  l.count_interval_threads = count.interval_threads;
  l.count_paths = count.paths;
  l.mode_switches = count.switches;
  l.watch_calls = o.watch_calls;
  l.watch_mappings = o.watch_mappings;
  l.name_memory = o.name_memory;
  l.keep_log = !o.engine_log.empty();
  l.map_code = o.perf_map;
  l.follow_children = o.follow_children;
  return l;
}

// Before the launch.
host::LaunchOptions prepare(const ProgramOptions& options, border::Mode mode, const CountOptions& count) {
  prctl(PR_SET_TIMERSLACK, 0ul);  // our default, which becomes the program's
  install_signal_handlers();
  return launch_options(options, mode, count);
}

RunResult beginning(const ProgramOptions& options) {
  RunResult result;
  result.command = options.command;
  result.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return result;
}

}  // namespace

ProgramRun::ProgramRun(const ProgramOptions& options, border::Mode mode, const CountOptions& count)
    : options_(options),
      start_(std::chrono::steady_clock::now()),
      result_(beginning(options)),
      family_(options.attach.processes.empty()
                  ? host::Family(prepare(options, mode, count))
                  : host::Family(prepare(options, mode, count), options.attach.processes, StreamConsumer::guardian())),
      progress_(!options.quiet, options.stage, options.all_instructions),
      consumer_(family_, progress_, options) {
  prctl(PR_SET_TIMERSLACK, 1000ul);  // naps of tens of microseconds are meant
}

RunResult ProgramRun::discarding() {
  result_.counted = false;
  consumer_.drain(result_);
  return take_end();
}

RunResult ProgramRun::take_end() {
  progress_.clear();
  result_.attached = family_.is_attached();
  result_.end_is_known = !result_.attached;
  const int status = family_.wait_status();
  if (WIFSIGNALED(status))
    result_.signal = WTERMSIG(status);
  else
    result_.exit_code = WEXITSTATUS(status);
  result_.simulator_seconds = own_processor_seconds();
  result_.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return std::move(result_);
}

}  // namespace simrun::cli
