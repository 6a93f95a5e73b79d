#include "cli/phases/recorded_run.h"

#include <fmt/format.h>

#include "base/user_error.h"

namespace simrun::cli {

namespace {

// As origins_in() names those of a live run.
std::string name_of(const traces::Reader& trace, uint32_t number) {
  if (number == 0) return "";
  const traces::ProcessRecord& record = trace.process_record(number);
  using Origin = traces::ProcessRecord::Origin;
  if (record.origin == Origin::kLaunched || record.parent >= number) return fmt::format("n{}", number);
  const std::string parent = record.parent == 0 ? "0" : name_of(trace, record.parent);
  return record.origin == Origin::kForked ? fmt::format("{}.{}", parent, record.token) : parent + "x";
}

}  // namespace

std::map<uint32_t, uint32_t> slots_of_threads(const nlohmann::json& summary) {
  std::map<uint32_t, uint32_t> slots;
  const auto threads = summary.is_object() ? summary.find("threads") : summary.end();
  if (!summary.is_object() || threads == summary.end() || !threads->is_array()) return slots;
  const auto number = [](const nlohmann::json& thread, const char* key) {
    const auto at = thread.is_object() ? thread.find(key) : thread.end();
    return thread.is_object() && at != thread.end() && at->is_number_unsigned() ? at->get<uint64_t>() : ~uint64_t{0};
  };
  for (const auto& thread : *threads) {
    const uint64_t index = number(thread, "index"), slot = number(thread, "slot");
    if (index < traces::kMaxThreadsInTrace && slot < border::kMaxThreads)
      slots[static_cast<uint32_t>(index)] = static_cast<uint32_t>(slot);
  }
  return slots;
}

RecordedRun::RecordedRun(const std::string& path) : trace_(path) {
  if (!trace_.incomplete().empty()) throw UserError(fmt::format("{}: {}: the regions of a part would be taken for those of the run", path, trace_.incomplete()));
  if (trace_.chunks().empty()) throw UserError(path + ": nothing was recorded");
}

std::vector<std::string> RecordedRun::command() const {
  std::vector<std::string> words;
  if (const auto at = trace_.information().find("command"); at != trace_.information().end() && at->is_array())
    for (const auto& word : *at)
      if (word.is_string()) words.push_back(word.get<std::string>());
  if (words.empty()) words.push_back("unknown");
  return words;
}

OriginOf RecordedRun::origins() const {
  return [this](uint32_t process) {
    ProcessOrigin origin{name_of(trace_, process), std::nullopt, std::vector<MapsEntry>()};
    for (const traces::Module& module : trace_.modules())
      if (module.process == process)
        origin.mappings->push_back({.start = module.start, .end = module.end, .offset = module.file_offset, .executable = true, .path = module.path});
    return origin;
  };
}

}  // namespace simrun::cli
