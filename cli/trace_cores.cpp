#include "cli/trace_cores.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "traces/record.h"

namespace simrun::cli {

namespace {

std::optional<uint32_t> number(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number_unsigned()) return {};
  const auto value = at->get<uint64_t>();
  if (value > traces::kMaxThreadsInTrace) return {};
  return static_cast<uint32_t>(value);
}

}  // namespace

std::map<uint32_t, uint32_t> cores_of_threads(const nlohmann::json& summary, uint32_t cores) {
  std::map<uint32_t, uint32_t> cores_of;
  const auto threads = summary.is_object() ? summary.find("threads") : summary.end();
  if (!summary.is_object() || threads == summary.end() || !threads->is_array()) return cores_of;
  std::map<uint32_t, std::optional<uint32_t>> ended_before;  // the thread that was named next
  for (const auto& thread : *threads)
    if (const auto index = number(thread, "index")) ended_before[*index] = number(thread, "ended_before");
  std::vector<std::optional<uint32_t>> owners(cores);
  for (const auto& [thread, ignored] : ended_before) {
    for (std::optional<uint32_t>& owner : owners)
      if (owner && ended_before[*owner] && *ended_before[*owner] <= thread) owner.reset();
    for (uint32_t k = 0; k < cores; ++k) {
      const uint32_t core = (thread + k) % cores;
      if (owners[core]) continue;
      owners[core] = thread;
      cores_of[thread] = core;
      break;
    }
  }
  return cores_of;
}

std::string cores_lacking(const traces::Reader& trace, uint32_t cores) {
  if (recorded_cores(trace.information()) == cores || !trace.summary().is_object()) return {};
  const auto threads = trace.summary().find("threads");
  if (threads == trace.summary().end() || cores_of_threads(trace.summary(), cores).size() >= threads->size()) return {};
  return fmt::format("{} threads, more at a time than the machine has cores ({}), and the trace was recorded without it: threads of one core take turns "
                     "as in the recorded order, each 1000 instructions or so, not for time slices; for those, simrun record --config",
                     threads->size(), cores);
}

uint32_t recorded_cores(const nlohmann::json& information) {
  const auto options = information.find("options");
  return options == information.end() ? 0 : number(*options, "cores").value_or(0);
}

}  // namespace simrun::cli
