#include "cli/region_options.h"

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/find_functions.h"
#include "cli/run_result.h"
#include "traces/region.h"

namespace simrun::cli {

namespace {

traces::RegionBound bound(const std::string& text) {
  return text.empty() ? traces::RegionBound{} : traces::parse_region_bound(text);
}

std::string if_unknown(const std::string& bound, const traces::RegionTracker& region) {
  if (region.unknown() != bound) return "";
  return region.knows_module_of_unknown() ? " (that module has no code there)" : " (no module of it has that)";
}

}  // namespace

void add_region_options(CLI::App& app, RegionOptions& o, std::string& region, const std::string& group) {
  const auto add = [&](CLI::Option* option) {
    if (!group.empty()) option->group(group);
    return option;
  };
  add(app.add_option("--from", o.from,
                     "Start here: an instruction count of all threads (2.5M), FUNCTION[:N] (its N-th call),\n"
                     "MODULE+0xOFFSET[:N], or marker:NUMBER. Both ends are rounded to superblock boundaries")
          ->type_name("WHERE"));
  add(app.add_option("--to", o.to,
                     "End here. An instruction count is of the whole run, as with --from; executions and calls are counted\n"
                     "from the start of the region; the one that starts it does not count")
          ->type_name("WHERE"));
  add(app.add_option("--region", region, "FROM..TO in one")->type_name("WHERE..WHERE"));
  add(app.add_flag("--stop", o.stop, "End the program when the region has ended"));
}

void check_region_options(const CommandLine& line, RegionOptions& o, const std::string& region, uint64_t warm_up) {
  if (!region.empty()) {
    const size_t dots = region.find("..");
    if (dots == std::string::npos || o.any()) line.usage_error("--region FROM..TO, without --from and --to");
    o.from = region.substr(0, dots);
    o.to = region.substr(dots + 2);
    if (!o.any()) line.usage_error("--region FROM..TO: one of them, at least");
  }
  if (o.stop && o.to.empty()) line.usage_error("--stop needs the end of a region (--to)");
  region_tracker(o);  // before anything runs
  using Kind = traces::RegionBound::Kind;
  const traces::RegionBound from = bound(o.from), to = bound(o.to);
  if (to.kind == Kind::kInstructions && to.count == 0) line.usage_error("--to 0: nothing comes before the first instruction");
  const uint64_t before = from.kind == Kind::kInstructions ? from.count : 0;
  if (to.kind == Kind::kInstructions && warm_up != 0 && (from.kind == Kind::kInstructions || o.from.empty()) && to.count - before <= warm_up)
    line.usage_error(fmt::format("--to {} must lie behind the warm-up", o.to));
}

traces::RegionTracker region_tracker(const RegionOptions& o) { return {bound(o.from), bound(o.to), find_functions}; }

RegionReport region_report(const RegionOptions& o, const traces::RegionTracker& region) {
  RegionReport report;
  report.from = o.from, report.to = o.to;
  report.first = region.started_at(), report.last = region.stopped_at();
  report.was_reached = region.inside() || region.over();
  report.reached_its_end = region.over() || (region.inside() && o.to.empty());
  return report;
}

std::string why_region_is_empty(const RegionOptions& o, const traces::RegionTracker& region) {
  if (!region.inside() && !region.over()) return fmt::format("the program did not reach {}{}", o.from, if_unknown(o.from, region));
  if (region.over() && region.stopped_at() == region.started_at())
    return fmt::format(
        "the region starts at instruction {}, which is not before {}: instructions are counted from the start of the program",
        region.started_at(), o.to);
  return "";
}

void warn_of_missing_end(const RegionOptions& o, const traces::RegionTracker& region, RunResult& result) {
  if (region.inside() && !o.to.empty())
    result.warnings.push_back(fmt::format("the run ended before it reached {}{}", o.to, if_unknown(o.to, region)));
}

std::string say_nothing(const std::string& what, const std::string& why, const RunResult& result) {
  const std::string status = result.signal != 0 ? fmt::format("signal {} ended it", result.signal)
                                                : fmt::format("it ended with status {}", result.exit_code);
  return fmt::format("nothing was {}: {}; {}", what, why, result.end_is_known ? status : "how it ended is not known");
}

}  // namespace simrun::cli
