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
  l.max_superblock_instructions = o.max_superblock_instructions;
  l.link_superblocks = o.link_superblocks;
  l.elide_words = o.elide_words;
  l.force_safe_points = o.force_safe_points;
  l.count_interval = count.interval;
  l.count_interval_threads = count.interval_threads;
  l.count_paths = count.paths;
  l.watch_calls = o.watch_calls;
  l.watch_mappings = o.watch_mappings;
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

std::unique_ptr<host::Target> start(const ProgramOptions& options, border::Mode mode, const CountOptions& count) {
  prctl(PR_SET_TIMERSLACK, 1000ul);  // naps of tens of microseconds are meant
  install_signal_handlers();
  return host::launch(launch_options(options, mode, count));
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
      target_(start(options, mode, count)),
      process_(target_->mapping()),
      progress_(!options.quiet),
      consumer_(*target_, process_, progress_) {
  result_.warnings = target_->warnings();
}

RunResult ProgramRun::discarding() {
  result_.counted = false;
  consumer_.drain(result_);
  return take_end();
}

// After the streams: the end of the program itself, which may go on natively for a while (exec).
RunResult ProgramRun::take_end() {
  while (target_->running()) {
    const timespec t{0, 1'000'000};
    nanosleep(&t, nullptr);
  }
  progress_.clear();
  const int status = target_->wait_status();
  if (WIFSIGNALED(status))
    result_.signal = WTERMSIG(status);
  else
    result_.exit_code = WEXITSTATUS(status);
  const border::ProcessHeader& header = target_->header();
  if (header.engine_state == 3 && result_.error.empty())
    result_.error = fmt::format("the engine gave up: {:.{}}", header.failure, sizeof header.failure - 1);
  result_.engine = engine_counts(header);
  result_.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return std::move(result_);
}

}  // namespace simrun::cli
