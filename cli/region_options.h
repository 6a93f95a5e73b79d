// --from, --to, --region and --stop, of sub-commands that look at a part of a run, and what is said of that part.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}
namespace simrun::traces {
class RegionTracker;
}

namespace simrun::cli {

class CommandLine;
struct RunResult;

struct RegionOptions {
  std::string from, to;
  bool stop = false;
  bool any() const { return !from.empty() || !to.empty(); }
};

// Adds them to `app`, in `group` ("": the first one); `options` and `region` (for --region) must outlive it.
void add_region_options(CLI::App& app, RegionOptions& options, std::string& region, const std::string& group);
// What they together must obey. Throws UserError with exit status 2.
void check_region_options(const CommandLine& line, RegionOptions& options, const std::string& region, uint64_t warm_up = 0);

traces::RegionTracker region_tracker(const RegionOptions& options);

// The region that was found, as reports name it.
struct RegionReport {
  std::string from, to;               // as given; empty: the start of the run, its end
  uint64_t warm_up = 0;               // instructions that warmed the caches and were not counted
  uint64_t first = 0, last = 0;       // what lies in it: instructions of all threads before its first one, and up to its last
  bool was_reached = true;            // false: nothing lies in it
  bool reached_its_end = true;
  bool stopped = false;               // and the program with it, as asked
};
RegionReport region_report(const RegionOptions& options, const traces::RegionTracker& region);

// Why nothing lies in the region; empty: something does.
std::string why_region_is_empty(const RegionOptions& options, const traces::RegionTracker& region);
// "nothing was simulated: WHY; it ended with status 3"
std::string say_nothing(const std::string& what, const std::string& why, const RunResult& result);
void warn_of_missing_end(const RegionOptions& options, const traces::RegionTracker& region, RunResult& result);

}  // namespace simrun::cli
