#include "cli/phases/record_run.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/user_error.h"
#include "cli/run_program.h"
#include "cli/terminal_signals.h"
#include "cli/trace_information.h"
#include "cli/trace_recorder.h"
#include "instr/channel/counting_sink.h"
#include "traces/writer.h"

namespace simrun::cli {

namespace {

// An incomplete recording, which a writer keeps, is of no use here.
struct WithoutPartial {
  std::string path;
  ~WithoutPartial() {
    std::error_code error;
    std::filesystem::remove(path + ".partial", error);
  }
};

}  // namespace

int interrupted_by(const RunResult& result) { return result.signal != 0 && signals_seen() != 0 ? result.signal : signal_after_end(); }

RunResult record_run(const ProgramOptions& program, const sim::MachineConfig& machine, const std::string& path) {
  const WithoutPartial behind_the_writer{path};
  traces::Writer writer(path, trace_information(program, machine.cores));
  ProgramRun run(program, border::Mode::kTrace);
  channel::CountingSink none;
  WholeRecorder<channel::CountingSink> sink(writer, run.family(), none);
  RunResult result = run.into(sink, machine.line_bytes, machine.cores);
  result.mode = RunMode::kTrace;
  if (!result.error.empty() || interrupted_by(result) != 0) return result;
  if (writer.instructions() == 0) throw UserError("the program executed nothing that is counted");
  if (writer.stopped().empty()) writer.finish(trace_summary(result));
  if (const std::string why = writer.stopped(); !why.empty()) {
    std::error_code error;
    std::filesystem::remove(path, error);   // the last words may have failed only
    throw UserError(fmt::format("cannot write {}: {}", path, why));
  }
  return result;
}

}  // namespace simrun::cli
