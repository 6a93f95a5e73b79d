#include "cli/region_options.h"

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/find_functions.h"
#include "traces/region.h"

namespace simrun::cli {

namespace {

traces::RegionBound bound(const std::string& text) {
  return text.empty() ? traces::RegionBound{} : traces::parse_region_bound(text);
}

}  // namespace

void add_region_options(CLI::App& app, RegionOptions& o, std::string& region, const std::string& group) {
  const auto add = [&](CLI::Option* option) {
    if (!group.empty()) option->group(group);
    return option;
  };
  add(app.add_option("--from", o.from,
                     "Start here: an instruction count of all threads (2.5M), FUNCTION[:N] (its N-th call),\n"
                     "MODULE+0xOFFSET[:N], or marker:NUMBER. At both ends some instructions off: between superblocks")
          ->type_name("WHERE"));
  add(app.add_option("--to", o.to,
                     "End here. An instruction count is of the whole run, as with --from; executions and calls are counted\n"
                     "from the start of the region, without the one that starts it")
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
  }
  if (o.stop && o.to.empty()) line.usage_error("--stop needs the end of a region (--to)");
  region_tracker(o);  // before anything runs
  using Kind = traces::RegionBound::Kind;
  const traces::RegionBound from = bound(o.from), to = bound(o.to);
  const uint64_t before = from.kind == Kind::kInstructions ? from.count : 0;
  if (to.kind == Kind::kInstructions && warm_up != 0 && (from.kind == Kind::kInstructions || o.from.empty()) && to.count - before <= warm_up)
    line.usage_error(fmt::format("--to {} must lie behind the warm-up", o.to));
}

traces::RegionTracker region_tracker(const RegionOptions& o) { return {bound(o.from), bound(o.to), find_functions}; }

RegionReport region_report(const RegionOptions& o, const traces::RegionTracker& region) {
  RegionReport report;
  report.from = o.from, report.to = o.to;
  report.first = region.started_at(), report.last = region.stopped_at();
  report.reached_its_end = region.over() || o.to.empty();
  return report;
}

std::string why_region_is_empty(const RegionOptions& o, const traces::RegionTracker& region) {
  if (!region.inside() && !region.over())
    return fmt::format("the program did not reach {}{}", o.from, region.unknown() == o.from ? " (no module of it has that)" : "");
  if (region.over() && region.stopped_at() == region.started_at())
    return fmt::format(
        "the region starts at instruction {}, which is not before {}: instructions are counted from the start of the program",
        region.started_at(), o.to);
  return "";
}

}  // namespace simrun::cli
