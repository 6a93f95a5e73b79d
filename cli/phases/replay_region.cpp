#include "cli/phases/replay_region.h"

#include <limits>
#include <optional>

#include "base/user_error.h"
#include "cli/model_sink.h"
#include "cli/phases/run_counts.h"
#include "cli/phases/stored_state.h"
#include "traces/replay.h"

namespace simrun::cli {

namespace {

// PcModelSink in the terms of traces/.
class Sink {
 public:
  static constexpr bool kWantsPc = true;  // a machine's prefetchers may go by it
  explicit Sink(sim::Hierarchy& model) : model_(model) {}
  uint32_t start_thread(uint32_t thread, uint32_t process, uint32_t tid) {
    return model_.start_thread(report_of(thread, process, tid, thread));  // its core follows
  }
  std::optional<uint32_t> run_on(uint32_t thread, uint32_t process, uint32_t core, bool /*is_new_there*/) {
    return model_.run_on(report_of(thread, process, 0, core));
  }
  void fetch(uint32_t handle, uint64_t line, uint64_t pc) { model_.fetch(handle, line, pc); }
  void data(uint32_t handle, traces::ReferenceKind kind, uint64_t address, uint32_t bytes, uint64_t pc) {
    model_.data(handle, static_cast<channel::ReferenceKind>(kind), address, bytes, pc);
  }

 private:
  static channel::ThreadReport report_of(uint32_t thread, uint32_t process, uint32_t tid, uint32_t core) {
    channel::ThreadReport report;
    report.index = thread;
    report.process = process;
    report.tid = tid;
    report.core = core;
    return report;
  }

  PcModelSink<sim::Hierarchy> model_;
};

}  // namespace

uint64_t warm_up_of_region(const traces::Reader& trace) {
  const nlohmann::json& summary = trace.summary();
  const auto region = summary.is_object() ? summary.find("region") : summary.end();
  if (!summary.is_object() || region == summary.end() || !region->contains("warm_up") ||
      !(*region)["warm_up"].is_number_unsigned())
    throw UserError(trace.path() + " is not the trace of a region: it does not say what its warm-up is");
  return (*region)["warm_up"].get<uint64_t>();
}

simpoint::Counts replay_region(const std::string& trace, const std::string& state, const sim::MachineConfig& machine) {
  const traces::Reader reader(trace);
  const uint64_t warm_up = warm_up_of_region(reader);
  sim::Hierarchy model(machine);
  read_state(state, model);
  Sink sink(model);
  traces::Replay<Sink> replay(reader, sink, machine.line_bytes);
  for (size_t at = reader.chunk_of(warm_up); at < reader.chunks().size(); ++at)
    replay.run(reader.read_chunk(at), warm_up, std::numeric_limits<uint64_t>::max());
  reader.require_undamaged();
  uint64_t instructions = 0;
  for (const auto& [index, thread] : replay.threads()) instructions += thread.counts.instructions;
  return counts_of(machine, model.statistics(), instructions);
}

}  // namespace simrun::cli
