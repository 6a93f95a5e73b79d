#include "cli/phases/pinpoints.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/user_error.h"
#include "cli/phases/profile_run.h"
#include "cli/print_error.h"
#include "cli/run_program.h"
#include "cli/terminal_signals.h"
#include "configs/read_machine.h"
#include "simpoint/read_profile.h"
#include "simpoint/write_bytes.h"
#include "simpoint/write_points.h"
#include "simpoint/write_profile.h"

namespace simrun::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using simpoint::Counts;

constexpr const char* kProfile = "profile.bb.zst";
constexpr const char* kRegions = "regions.json";
constexpr const char* kWhole = "whole.json";

// Where a plain file stands; -1: it is none.
long position_of_file(int descriptor) {
  struct stat s {};
  if (fstat(descriptor, &s) != 0 || !S_ISREG(s.st_mode)) return -1;
  return lseek(descriptor, 0, SEEK_CUR);
}

}  // namespace

template <class... Arguments>
void PinPoints::say(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
  if (!o_.program.quiet) print_error("simrun: {}\n", fmt::format(format, std::forward<Arguments>(arguments)...));
}

PinPoints::PinPoints(PinPointsOptions options)
    : o_(std::move(options)), input_(position_of_file(STDIN_FILENO)), output_(position_of_file(STDOUT_FILENO)) {
  found_.machine = configs::read_machine(o_.config);
}

int PinPoints::run() {
  open_folder();
  make_profile();
  analyse();
  simulate_regions();
  if (o_.validate) simulate_all();
  return report();
}

// What an earlier call in this folder was for must be what this one is for.
void PinPoints::open_folder() {
  std::error_code error;
  fs::create_directories(o_.folder, error);
  if (!fs::is_directory(o_.folder)) throw UserError("cannot make the folder " + o_.folder);
  const json asked = {{"command", o_.program.command},
                      {"interval", o_.profile.length},
                      {"intervals", simpoint::to_word(o_.profile.kind)},
                      {"leave_out", o_.profile.left_out}};
  if (o_.restart)
    for (const char* name : {kProfile, kRegions, kWhole, "asked.json"}) fs::remove(path(name), error);
  std::ifstream file(path("asked.json"));
  if (file && json::parse(file, nullptr, false) != asked)
    throw UserError(o_.folder +
                    " holds the results of another program or other intervals: give another folder, or --restart");
  simpoint::write_whole(path("asked.json"), asked.dump(1) + "\n");
}

// Once more, as if for the first time: a file as input is read again, a file as output is written over.
template <class Sink>
RunResult PinPoints::run_program(Sink& sink, const char* what) {
  if (runs_++ != 0) {
    if (input_ >= 0) lseek(STDIN_FILENO, input_, SEEK_SET);
    if (output_ >= 0 && ftruncate(STDOUT_FILENO, output_) == 0) lseek(STDOUT_FILENO, output_, SEEK_SET);
  }
  RunResult result = ProgramRun(o_.program, border::Mode::kTrace).into(sink, found_.machine.line_bytes);
  for (const std::string& warning : result.warnings) print_error("simrun: warning: {}\n", warning);
  check_end(result, what);
  return result;
}

void PinPoints::check_end(const RunResult& result, const char* what) const {
  if (!result.error.empty()) throw UserError(fmt::format("{}: {}", what, result.error));
  if (result.signal != 0) {
    print_error(
        "simrun: {}: the program was ended by signal {}. What was finished before stays in {}; the same call goes on "
        "from there.\n",
        what, result.signal, o_.folder);
    end_by_signal(result.signal);
  }
  if (result.exit_code != 0) say("{}: the program ended with status {}", what, result.exit_code);
}

void PinPoints::make_profile() {
  if (fs::exists(path(kProfile))) return say("profile: {} is there already", path(kProfile));
  const auto writer = simpoint::ProfileWriter::open(path(kProfile));
  const auto [result, profile, intervals] =
      profile_run(o_.program, o_.profile, [&](const auto& interval, auto entries) { writer->add(interval, entries); });
  ++runs_;
  check_end(result, "profile");
  if (intervals == 0) throw UserError("the program executed nothing that is counted");
  writer->finish(profile);
  say("profile: {} instructions, {:.1f} s", profile.instructions, result.wall_seconds);
}

void PinPoints::analyse() {
  simpoint::Projector projector(o_.analysis.dimensions, o_.analysis.projection_seed);
  found_.profile = simpoint::read_profile(path(kProfile), [&](auto entries) { projector.add(entries); }).profile;
  const simpoint::ProjectedIntervals intervals = projector.finish();
  const bool fixed = o_.analysis.fixed_length && found_.profile.kind == simpoint::IntervalKind::kFixed;
  const auto weights = simpoint::interval_weights(intervals.sums, fixed);
  const auto choice = simpoint::choose_clustering(intervals.points, weights, o_.analysis.clustering);
  auto points = simpoint::cover(simpoint::select_points(choice.clustering(), weights, o_.analysis.selection),
                                o_.analysis.coverage);
  const size_t phases = points.size();
  if (o_.analysis.points != 0) points = simpoint::spread(choice.clustering(), weights, points, o_.analysis.points);
  found_.labels = choice.clustering().labels;
  found_.plan = simpoint::plan_regions(found_.profile, points, o_.warm_up);
  simpoint::write_whole(path("points.simpoints"), simpoint::points_text(points));
  simpoint::write_whole(path("points.weights"), simpoint::weights_text(points));
  simpoint::write_whole(path("points.labels"), simpoint::labels_text(choice.clustering()));
  simpoint::write_whole(path("regions.csv"), simpoint::pc_count_csv(found_.plan, found_.profile));
  simpoint::write_whole(path("regions.pinpoints.csv"), simpoint::icount_csv(found_.plan, found_.profile));
  say("analysis: {} intervals, {} phases, {} regions", intervals.size(), phases, found_.plan.regions.size());
  if (intervals.size() == 1)
    say("analysis: one interval is the whole run: shorter ones (--interval) would tell phases apart");
  for (const std::string& remark : found_.plan.remarks) say("{}", remark);
}

// What the rows of a file depend on beside the folder's program.
json PinPoints::key(bool regions) const {
  json k = {{"machine", configs::to_json(found_.machine)}, {"intervals", found_.profile.intervals.size()}};
  if (regions)
    for (const auto& change : found_.plan.changes)
      k["changes"].push_back({change.interval, static_cast<int>(change.stage)});
  return k;
}

bool PinPoints::load(const char* name, bool regions, std::vector<Counts>& rows) const {
  std::ifstream file(path(name));
  const json document = file ? json::parse(file, nullptr, false) : json();
  if (!document.is_object() || document.value("key", json()) != key(regions)) return false;
  rows = document.at("rows").get<std::vector<Counts>>();
  say("{} is there already", path(name));
  return true;
}

void PinPoints::save(const char* name, bool regions, const std::vector<Counts>& rows) const {
  simpoint::write_whole(path(name), json{{"key", key(regions)}, {"rows", rows}}.dump() + "\n");
}

// Runs the program once more; rows[i]: the counts from stop i to the next.
std::vector<Counts> PinPoints::simulate(std::vector<Stop> stops, uint64_t tolerance, const char* what) {
  sim::Hierarchy model(found_.machine);
  std::vector<Counts> at;
  const size_t expected = stops.size();
  RegionSink sink(model, stops, tolerance,
                  [&](size_t, uint64_t instructions) { at.push_back(counts_of(model.statistics(), instructions)); });
  const RunResult result = run_program(sink, what);
  at.push_back(counts_of(model.statistics(), sink.instructions()));
  check_found(sink, stops, what);
  if (at.size() != expected + 1)
    throw UserError(fmt::format("{}: the run ended before {} of {} stops: this is not the run that was profiled", what,
                                expected + 1 - at.size(), expected));
  say("{}: {:.2f}% of {} instructions simulated, {:.1f} s", what,
      100 * static_cast<double>(sink.simulated()) / static_cast<double>(sink.instructions()), sink.instructions(),
      result.wall_seconds);
  for (size_t i = 0; i + 1 < at.size(); ++i)
    for (size_t j = 0; j < at[i].size(); ++j) at[i][j] = at[i + 1][j] - at[i][j];
  at.pop_back();
  return at;
}

void PinPoints::check_found(const RegionSink& sink, const std::vector<Stop>& stops, const char* what) const {
  const auto profiled = static_cast<double>(found_.profile.instructions);
  const double shift = std::abs(static_cast<double>(sink.instructions()) - profiled);
  if (shift > 0) say("{}: {} instructions, {} in the profile", what, sink.instructions(), found_.profile.instructions);
  for (const size_t stop : sink.missed())
    print_error(
        "simrun: warning: {}: execution {} of {}+{:#x} did not come near instruction {}: the instruction was taken "
        "instead\n",
        what, stops[stop].marker.count, stops[stop].marker.place.module, stops[stop].marker.place.offset,
        stops[stop].instructions);
  if (shift > 0.2 * profiled)
    throw UserError(
        fmt::format("{}: {} instructions, but {} in the profile: this is not the run that was profiled (another "
                    "input, or standard input from a pipe?)",
                    what, sink.instructions(), found_.profile.instructions));
}

void PinPoints::simulate_regions() {
  if (load(kRegions, true, found_.stretches)) return;
  std::vector<Stop> stops;
  for (const auto& change : found_.plan.changes) {
    const simpoint::Interval& interval = found_.profile.intervals[change.interval];
    stops.push_back({interval.begin, interval.start, change.stage != simpoint::Stage::kSkip});
  }
  // Threads that run at other paces shift what is counted over all of them.
  const uint64_t part = found_.profile.threads > 1 ? 10 : 100;
  const uint64_t tolerance = std::max<uint64_t>(o_.profile.length, found_.profile.instructions / part);
  found_.stretches = simulate(std::move(stops), tolerance, "regions");
  save(kRegions, true, found_.stretches);
}

void PinPoints::simulate_all() {
  if (load(kWhole, false, found_.whole)) return;
  std::vector<Stop> stops;
  for (const simpoint::Interval& interval : found_.profile.intervals) stops.push_back({{}, interval.start, true});
  found_.whole = simulate(std::move(stops), 0, "whole run");
  save(kWhole, false, found_.whole);
}

int PinPoints::report() {
  const PinPointsReport made = make_report(found_);
  simpoint::write_whole(path("report.json"), made.document.dump(1) + "\n");
  simpoint::write_whole(path("report.txt"), made.table);
  simpoint::write_whole(path("report.html"), made.page);
  if (!o_.program.quiet) print_error("{}", made.table);
  if (o_.max_error == 0 || 100 * made.worst <= o_.max_error) return 0;
  print_error(
      "simrun: error: {} is off by {:.2f}%, more than the {:g}% allowed: try more phases (--max-k), a longer warm-up "
      "(--warm-up) or other intervals (--interval)\n",
      made.worst_name, 100 * made.worst, o_.max_error);
  return 1;
}

}  // namespace simrun::cli
