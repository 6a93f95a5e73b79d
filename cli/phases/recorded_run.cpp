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
    ProcessOrigin origin{name_of(trace_, process), std::nullopt, ""};
    for (const traces::Module& module : trace_.modules())
      if (module.process == process)
        *origin.mappings +=
            fmt::format("{:x}-{:x} r-xp {:x} 00:00 0 {}\n", module.start, module.end, module.file_offset, module.path);
    return origin;
  };
}

}  // namespace simrun::cli
