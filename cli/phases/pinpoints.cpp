#include "cli/phases/pinpoints.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "base/user_error.h"
#include "cli/phases/process_origin.h"
#include "cli/phases/profile_run.h"
#include "cli/phases/record_run.h"
#include "cli/phases/region_exports.h"
#include "cli/phases/replay_region.h"
#include "cli/phases/stored_state.h"
#include "cli/print_error.h"
#include "cli/run_program.h"
#include "cli/terminal_signals.h"
#include "cli/trace_cores.h"
#include "cli/trace_information.h"
#include "configs/read_machine.h"
#include "simpoint/calibrate.h"
#include "simpoint/read_points.h"
#include "simpoint/read_profile.h"
#include "simpoint/write_bytes.h"
#include "simpoint/write_points.h"
#include "simpoint/write_profile.h"
#include "traces/elf_file.h"

namespace simrun::cli {

namespace {

namespace fs = std::filesystem;
using simpoint::Counts;
using simpoint::Region;

// So much of the time may be spent on keeping what may be needed by nobody.
constexpr std::chrono::milliseconds kBetweenParts{200};
constexpr int kTimesItTook = 20;

// Where a plain file stands; -1: it is none.
long position_of_file(int descriptor) {
  struct stat s {};
  if (fstat(descriptor, &s) != 0 || !S_ISREG(s.st_mode)) return -1;
  return lseek(descriptor, 0, SEEK_CUR);
}

// A file that is standard output gets what the program writes the first time; what it writes meanwhile, again, goes.
class RepeatedOutput {
 public:
  RepeatedOutput() : position_(position_of_file(STDOUT_FILENO)), end_(position_ < 0 ? -1 : lseek(STDOUT_FILENO, 0, SEEK_END)) {}
  ~RepeatedOutput() {
    if (end_ >= 0 && ftruncate(STDOUT_FILENO, end_) == 0) lseek(STDOUT_FILENO, position_, SEEK_SET);
  }
  RepeatedOutput(const RepeatedOutput&) = delete;
  RepeatedOutput& operator=(const RepeatedOutput&) = delete;

 private:
  const long position_, end_;
};

}  // namespace

PinPoints::PinPoints(PinPointsOptions options)
    : o_(std::move(options)), input_(position_of_file(STDIN_FILENO)) {
  found_.machine = configs::read_machine(o_.config);
  if (o_.trace.empty()) return;
  recorded_.emplace(o_.trace);
  found_.is_of_one_run = true;
  o_.program.command = recorded_->command();
}

int PinPoints::run() {
  open_folder();
  try {
    if (o_.record) record();
    make_profile();
  } catch (const UserError&) {
    if (made_folder_) take_back_folder();
    throw;
  }
  analyse();
  simulate_regions();
  check_regions_are_found(found_);  // before the whole run is simulated
  if (o_.validate) simulate_all();
  if (o_.states) replay_regions();
  export_traces();
  return report();
}

// The one run of the program, unless an earlier call has it already.
void PinPoints::record() {
  if (fs::exists(path(kRun))) {
    say("recording: {} is there already", path(kRun));
  } else {
    std::error_code error;
    for (const char* name : kOfOneRun) fs::remove(path(name), error);   // of one whose trace is gone
    o_.program.stage = "recording";
    const RunResult result = record_run(o_.program, found_.machine, path(kRun));
    for (const std::string& warning : result.warnings) print_error("simrun: warning: {}\n", warning);
    check_end(result, "recording");
    say("recording: {} instructions, {} bytes, {:.1f} s", result.totals().instructions, fs::file_size(path(kRun)), result.wall_seconds);
  }
  recorded_.emplace(path(kRun));
  found_.is_of_one_run = true;
}

// Once more, as if for the first time: a file as input is read again.
template <class Sink>
RunResult PinPoints::run_program(Sink& sink, const char* what, const std::vector<border::ModeSwitch>& switches) {
  if (recorded_) {
    sink.set_origins(recorded_->origins());
    return recorded_->into(sink, found_.machine.line_bytes, found_.machine.cores, o_.program.quiet);
  }
  check_builds(what);
  std::optional<RepeatedOutput> repeated;
  if (runs_++ != 0) {
    if (input_ >= 0) lseek(STDIN_FILENO, input_, SEEK_SET);
    repeated.emplace();
  }
  o_.program.stage = what;
  o_.program.all_instructions = found_.profile.instructions;
  const bool begins_traced = switches.empty() || switches.front().at == 0;
  const auto mode = begins_traced ? border::Mode::kTrace : border::Mode::kCount;
  CountOptions count{0, 0, !switches.empty(), switches};
  if (!switches.empty() && begins_traced) count.switches.erase(count.switches.begin());
  ProgramRun execution(o_.program, mode, count);
  sink.set_origins(origins_in(execution.family()));
  RunResult result = execution.into(sink, found_.machine.line_bytes, found_.machine.cores);
  repeated.reset();
  for (const std::string& warning : result.warnings) print_error("simrun: warning: {}\n", warning);
  check_end(result, what);
  return result;
}

// That the markers of the profile are in the code that is there now. A file that is gone, or has no build id, says nothing.
void PinPoints::check_builds(const char* what) const {
  std::vector<std::string> others;
  for (const simpoint::ProfiledModule& module : found_.profile.modules)
    if (const std::string id = traces::build_id_of(module.path); !id.empty() && id != module.build_id) others.push_back(module.path);
  if (!others.empty())
    throw UserError(fmt::format("{}: {} {} another build than in the profile (by build ids): give another folder, or --restart", what,
                                fmt::join(others, ", "), others.size() == 1 ? "is" : "are"));
}

void PinPoints::check_end(const RunResult& result, const char* what) const {
  if (!result.error.empty()) throw UserError(fmt::format("{}: {}", what, result.error));
  let_signals_end_simrun(fmt::format("\nsimrun: ended by a signal. What was finished before stays in {}; the same call goes on from there.\n", o_.folder));   // until the next run
  if (const int signal = interrupted_by(result)) {
    print_error("simrun: {}: {} by signal {}. What was finished before stays in {}; the same call goes on from there.\n", what,
                result.signal != 0 ? "the program was ended" : "ended", signal, o_.folder);
    end_by_signal(signal);
  }
  if ((result.signal == 0 && result.exit_code == 0) || said_how_it_ended_) return;
  said_how_it_ended_ = true;   // its own affair otherwise
  const std::string end = result.signal != 0 ? fmt::format("was ended by signal {}", result.signal) : fmt::format("ended with status {}", result.exit_code);
  print_error("simrun: warning: {}: the program {}\n", what, end);
}

namespace {

constexpr uint64_t kPartOfRun = 5;   // for all warm-ups together

}  // namespace

// Unless the user says how many. Each has a warm-up, and a trace with it.
uint64_t PinPoints::most_regions() const {
  constexpr uint64_t kMost = 100;
  return o_.warm_up.value_or(0) == 0 ? kMost : std::min(kMost, found_.profile.instructions / kPartOfRun / *o_.warm_up);
}

uint64_t usual_warm_up(const sim::MachineConfig& machine, uint64_t instructions, uint64_t interval, uint64_t regions) {
  constexpr uint64_t kInstructionsForLine = 1000, kLeastIntervals = 5;
  const sim::LevelConfig& last = machine.levels.back();
  const uint64_t bytes = last.split ? last.instruction.size_bytes + last.data.size_bytes : last.unified.size_bytes;
  return std::max(kLeastIntervals * interval,
                  std::min(kInstructionsForLine * (bytes / machine.line_bytes), instructions / kPartOfRun / regions));
}

void PinPoints::make_profile() {
  if (fs::exists(path(kProfile))) return say("profile: {} is there already", path(kProfile));
  auto writer = simpoint::ProfileWriter::open(path(kProfile));
  o_.program.stage = "profile";
  const auto add = [&](const auto& interval, auto entries) { writer->add(interval, entries); };
  const auto [result, profile, intervals] = recorded_ ? profile_recorded(*recorded_, o_.profile, o_.program.quiet, add)
                                                      : profile_run(o_.program, o_.profile, add);
  ++runs_;
  if (interrupted_by(result) != 0) writer.reset();  // check_end() ends this process
  check_end(result, "profile");
  if (intervals == 0) throw UserError("profile: " + why_no_vectors(result));
  writer->finish(profile);
  say("profile: {} instructions, {:.1f} s", profile.instructions, result.wall_seconds);
}

namespace {

simpoint::Points rows_of(const simpoint::Points& all, const std::vector<simpoint::SimulationPoint>& points) {
  simpoint::Points rows(static_cast<Eigen::Index>(points.size()), all.cols());
  for (size_t k = 0; k < points.size(); ++k) rows.row(static_cast<Eigen::Index>(k)) = all.row(static_cast<Eigen::Index>(points[k].interval));
  return rows;
}

}  // namespace

// Numbered anew: clusters of SimPoint's may be missing, as of those that do not cover much.
std::vector<simpoint::SimulationPoint> PinPoints::given_points(size_t intervals) const {
  std::vector<simpoint::SimulationPoint> points = simpoint::read_points(o_.simpoints, o_.weights);
  for (uint32_t k = 0; k < points.size(); ++k) {
    if (points[k].interval >= intervals)
      throw UserError(fmt::format("{}: interval {}, but the profile ({}) has {}: the points are of other intervals (--interval) or of another program",
                                  o_.simpoints, points[k].interval, path(kProfile), intervals));
    points[k].cluster = k;
  }
  return points;
}

void PinPoints::analyse() {
  simpoint::Projector projector(o_.analysis.dimensions, o_.analysis.projection_seed);
  simpoint::ReadProfile read = simpoint::read_profile(path(kProfile), [&](auto entries) { projector.add(entries); });
  const bool is_of_earlier_call = runs_ == 0;   // of this one it is said already
  for (const std::string& warning : is_of_earlier_call ? read.warnings : std::vector<std::string>()) print_error("simrun: warning: {}\n", warning);
  found_.profile = std::move(read.profile);
  if (found_.profile.instructions == 0) throw UserError(path(kProfile) + ": its end is missing: --restart makes it anew");
  const simpoint::ProjectedIntervals intervals = projector.finish(found_.profile.intervals);
  const auto weights = simpoint::interval_weights(intervals.sums, has_fixed_length(o_.analysis, found_.profile));
  const bool chooses = o_.simpoints.empty();
  const std::vector<simpoint::SimulationPoint> given = chooses ? std::vector<simpoint::SimulationPoint>() : given_points(intervals.size());
  simpoint::ClusteringChoice choice;
  if (chooses)
    choice = simpoint::choose_clustering(intervals.points, weights, o_.analysis.clustering);
  else   // each interval is of the phase of the point that is nearest
    choice.clustering = simpoint::assign(intervals.points, weights, rows_of(intervals.points, given), true);
  simpoint::SelectionOptions selection = o_.analysis.selection;
  selection.middle_of_equals = true;
  selection.avoided = simpoint::intervals_that_change_hands(found_.profile);
  const auto all = chooses ? simpoint::select_points(choice.clustering, weights, selection) : given;
  auto points = chooses ? simpoint::cover(all, o_.analysis.coverage) : given;
  const size_t phases = points.size();
  found_.covered = simpoint::covered_part(all, points);
  const double length = simpoint::projected_length(o_.analysis.dimensions);
  if (!chooses)
    say("analysis: the points of {}", o_.simpoints);
  else if (o_.analysis.points != 0)
    points = simpoint::spread(choice.clustering, weights, points, o_.analysis.points, selection.avoided);
  else if (selection.early == 0)  // who wants early points wants few
    points = simpoint::spread_mixed(choice.clustering, weights, points, length, most_regions(), selection.avoided);
  found_.labels = choice.clustering.labels;
  found_.weights = weights;
  const uint64_t warm_up =
      o_.warm_up.value_or(usual_warm_up(found_.machine, found_.profile.instructions, o_.profile.length, points.size()));
  const std::string labels = simpoint::labels_text(choice.clustering, weights, points);
  // Of a part of the run it is not known how far apart its references are.
  if (chooses && o_.analysis.calibrates && o_.analysis.coverage == 1) points = simpoint::calibrate(std::move(points), weights, intervals.far);
  found_.plan = simpoint::plan_regions(found_.profile, points, warm_up);
  if (phases < all.size())
    found_.plan.remarks.push_back(fmt::format("{} of {} phases, {:.2f}% of the run, have no region: figures are of the others (--coverage {})", all.size() - phases,
                                              all.size(), 100 * (1 - found_.covered), o_.analysis.coverage));
  if (o_.analysis.points == 0 && points.size() > phases)
    found_.plan.remarks.push_back("phases with intervals that are not alike have several regions (--points 1: one for each phase)");
  std::string mixed = chooses ? simpoint::mixed_phases(choice.clustering, weights, points, length) : "";
  found_.has_unknown_spread = !mixed.empty();
  if (found_.has_unknown_spread) found_.plan.remarks.push_back(std::move(mixed));
  simpoint::write_whole(path("points.simpoints"), simpoint::points_text(points));
  simpoint::write_whole(path("points.weights"), simpoint::weights_text(points));
  simpoint::write_whole(path("points.labels"), labels);
  simpoint::write_whole(path("regions.csv"), simpoint::pc_count_csv(found_.plan, found_.profile));
  simpoint::write_whole(path("regions.pinpoints.csv"), simpoint::icount_csv(found_.plan, found_.profile));
  const auto counted = [](size_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
  say("analysis: {}, {}, {}, warm-ups of {} instructions", counted(intervals.size(), "interval"), counted(phases, "phase"),
      counted(found_.plan.regions.size(), "region"), warm_up);
  if (intervals.size() == 1)
    say("analysis: one interval is the whole run: shorter ones (--interval) would tell phases apart");
  else if (chooses && simpoint::are_few_intervals(choice, o_.analysis.clustering))
    say("analysis: as many phases as there can be of so few intervals: shorter ones (--interval) would tell which are alike");
  else if (const uint32_t lowered = chooses ? simpoint::greatest_k_lowered(choice, o_.analysis.clustering) : 0)
    say("analysis: -k {} made {} clusters: others would have no interval", lowered, choice.examined.back().k());
  for (const std::string& remark : found_.plan.remarks) say("{}", remark);
  const std::string lacking = recorded_ ? cores_lacking(recorded_->trace(), found_.machine.cores) : "";
  if (lacking.empty()) return;
  print_error("simrun: warning: {}\n", lacking);
  found_.plan.remarks.push_back(lacking);
}

namespace {

// rows[i]: the counts from at[i] to at[i + 1].
std::vector<Counts> differences(const std::vector<Counts>& at) {
  std::vector<Counts> rows;
  for (size_t i = 0; i + 1 < at.size(); ++i) {
    rows.push_back(at[i]);
    for (size_t j = 0; j < at[i].size(); ++j) rows[i][j] = at[i + 1][j] - at[i][j];
  }
  return rows;
}

}  // namespace

// Runs the program once more; rows[i]: the counts from change i of the plan to the next.
std::vector<Counts> PinPoints::simulate(const RegionPass& pass, const char* what, Part* part) {
  sim::Hierarchy model(found_.machine);
  std::vector<Counts> at;
  const size_t first = part != nullptr ? part->stop : 0;
  const auto skipped = static_cast<std::ptrdiff_t>(first);
  const std::vector<Counts> before = part != nullptr ? part->rows : std::vector<Counts>();
  if (first != 0) read_state(path(kPartState), model);
  auto keep_next = std::chrono::steady_clock::now() + kBetweenParts;
  const auto expected = static_cast<size_t>(std::count(pass.is_change.begin() + skipped, pass.is_change.end(), true));
  const nlohmann::ordered_json information =
      recorded_ ? nlohmann::ordered_json(recorded_->trace().information()) : trace_information(o_.program, found_.machine.cores);
  RegionTraces traces(information, found_.machine.cores, recorded_ ? &recorded_->trace() : nullptr);
  // Between regions, when nothing is being written, there is little to keep.
  const auto keep_part = [&](size_t stop, uint64_t instructions) {
    if (part == nullptr || stop == first || !pass.is_change[stop] || pass.stops[stop].simulate || traces.any()) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < keep_next) return;
    part->stop = stop, part->instructions = instructions;
    part->rows = before;
    for (Counts& row : differences(at)) part->rows.push_back(std::move(row));
    save_part(*part, model);
    const auto then = std::chrono::steady_clock::now();
    keep_next = then + std::max<std::chrono::steady_clock::duration>(kBetweenParts, kTimesItTook * (then - now));
  };
  const uint64_t goes_on_from = part != nullptr ? part->instructions : 0;
  const auto on_stop = [&](size_t index, uint64_t instructions) {
    const size_t stop = first + index;
    if (index == 0 && first != 0 && pass.stops[stop].marker.count == 0) instructions = goes_on_from;
    if (pass.is_change[stop]) at.push_back(counts_of(found_.machine, model.statistics(), instructions));
    if (!pass.states.empty() && !pass.states[stop].empty()) write_state(pass.states[stop], model, {{"interval", stop}, {"command", information.value("command", nlohmann::json())}});
    if (!pass.traces.empty())
      for (const size_t region : pass.closes[stop]) traces.end(region, instructions);
    keep_part(stop, instructions);
    if (pass.traces.empty()) return;
    for (const size_t region : pass.begins[stop]) traces.begin(region, pass.traces[region], instructions);
    for (const size_t region : pass.measures[stop]) traces.end_warm_up(region, instructions);
  };
  RegionSink sink(model, {pass.stops.begin() + skipped, pass.stops.end()}, pass.tolerance, on_stop,
                  pass.traces.empty() ? nullptr : &traces);
  const RunResult result = run_program(sink, what, pass.switches);
  sink.finish();
  at.push_back(counts_of(found_.machine, model.statistics(), sink.instructions()));
  check_found(sink, {pass.stops.begin() + skipped, pass.stops.end()}, what);
  for (size_t region = 0; region < pass.traces.size(); ++region) traces.end(region, sink.instructions());
  if (at.size() != expected + 1)
    throw UserError(fmt::format("{}: the run ended before {} of {} stops: this is not the run that was profiled", what,
                                expected + 1 - at.size(), expected));
  say("{}: {:.2f}% of {} instructions simulated{}, {:.1f} s", what,
      100 * static_cast<double>(sink.simulated()) / static_cast<double>(sink.instructions()), sink.instructions(),
      pass.traces.empty() ? "" : fmt::format(", {} traces written", pass.traces.size()), result.wall_seconds);
  std::vector<Counts> rows = before;
  for (Counts& row : differences(at)) rows.push_back(std::move(row));
  return rows;
}

namespace {

void warn_of_missed(const std::vector<Stop>& stops, const std::vector<size_t>& missed, const char* what) {
  constexpr size_t kMostSaid = 5;
  for (size_t k = 0; k < std::min(missed.size(), kMostSaid); ++k) {
    const Stop& stop = stops[missed[k]];
    print_error("simrun: warning: {}: execution {} of {}+{:#x} did not come near instruction {}: the instruction was taken instead\n", what,
                stop.marker.count, stop.marker.place.module, stop.marker.place.offset, stop.instructions);
  }
  if (missed.size() > kMostSaid) print_error("simrun: warning: {}: {} more of {} did not come near theirs\n", what, missed.size() - kMostSaid, stops.size());
}

}  // namespace

const char* PinPoints::advice_on_other_runs() const {
  if (recorded_) return "";
  if (found_.profile.threads > 1) return "; threads that wait in a loop do so for as long as the host has it: --leave-out that code, or --record";
  return "; --record for programs that do something else each time";
}

void PinPoints::check_found(const RegionSink& sink, const std::vector<Stop>& stops, const char* what) const {
  const auto profiled = static_cast<double>(found_.profile.instructions);
  const double shift = std::abs(static_cast<double>(sink.instructions()) - profiled);
  if (shift > 0) say("{}: {} instructions, {} in the profile", what, sink.instructions(), found_.profile.instructions);
  // A region that begins or ends elsewhere is to be known of; of the whole run's intervals how many.
  const bool all = stops.size() == found_.profile.intervals.size();
  if (all && !sink.missed().empty())
    say("{}: {} of {} intervals were not found by their markers", what, sink.missed().size(), stops.size());
  if (!all) warn_of_missed(stops, sink.missed(), what);
  if (shift > 0.2 * profiled)
    throw UserError(
        fmt::format("{}: {} instructions, but {} in the profile: this is not the run that was profiled (another "
                    "input, or standard input from a pipe?){}",
                    what, sink.instructions(), found_.profile.instructions, advice_on_other_runs()));
}

void PinPoints::simulate_regions() {
  RegionPass pass =
      plan_pass(found_.plan, found_.profile, o_.traces ? path(kTraces) : "", program_name(), recorded_.has_value());
  if (o_.traces) remove_files_of_others();
  warn_of_files_of_others();
  const bool complete = std::all_of(pass.traces.begin(), pass.traces.end(),
                                    [](const RegionTrace& trace) { return fs::exists(trace.file); });
  if (o_.traces) remove_traces(pass);
  if (complete && load(kRegions, true, found_.stretches)) return;
  std::error_code error;
  if (o_.traces && !fs::create_directories(path(kTraces), error) && error)
    throw UserError(fmt::format("cannot make the folder {}: {}", path(kTraces), error.message()));
  Part part = load_part(pass);
  if (part.stop != 0 && !pass.switches.empty()) {
    pass.switches = switches_from(pass, part.stop, found_.profile);
    pass.stops[part.stop].marker = {};   // it lies in what is only counted now, and where it was is known
  }
  found_.stretches = simulate(pass, "regions", &part);
  // Other threads were elsewhere than when the states were stored.
  if (found_.profile.threads > 1)
    for (const Region& region : found_.plan.regions) fs::remove(state_file(region), error);
  save(kRegions, true, found_.stretches);
  for (const char* name : {kPart, kPartState}) fs::remove(path(name), error);
}

void PinPoints::simulate_all() {
  const auto& regions = found_.plan.regions;
  const bool complete = !o_.states || std::all_of(regions.begin(), regions.end(), [&](const Region& r) {
    return is_state_of(state_file(r), found_.machine);
  });
  if (complete && load(kWhole, false, found_.whole)) return;
  RegionPass pass;
  // One thread is where it was by the number of instructions; of several it is the marker that says where that is.
  const bool alone = found_.profile.threads <= 1;
  pass.tolerance = tolerance_of(found_.profile);
  for (const simpoint::Interval& interval : found_.profile.intervals)
    pass.stops.push_back({alone ? simpoint::Marker{} : interval.begin, interval.start, true});
  pass.is_change.assign(pass.stops.size(), true);
  if (o_.states) {
    pass.states.resize(pass.stops.size());
    for (const Region& region : regions) pass.states[region.interval] = state_file(region);
    if (!alone && o_.traces) trace_intervals(pass, found_.plan, path(kTraces), program_name());
  }
  found_.whole = simulate(pass, "whole run");
  save(kWhole, false, found_.whole);
}

// The regions once more, each from its trace and the stored state alone.
void PinPoints::replay_regions() {
  for (const Region& region : found_.plan.regions)
    found_.stored.push_back(
        replay_region(path(kTraces) + "/" + trace_name(program_name(), region), state_file(region), found_.machine));
  say("{} replayed from stored states", found_.stored.size() == 1 ? "1 region" : fmt::format("{} regions", found_.stored.size()));
}

// In a folder of the format's name.
void PinPoints::export_traces() const {
  std::vector<RegionToExport> regions;
  for (const Region& r : found_.plan.regions) {
    const std::string trace = path(kTraces) + "/" + trace_name(program_name(), r);
    regions.push_back({trace, region_name(program_name(), r), r.cluster, r.weight});
  }
  for (const std::string& name : o_.to) {
    const auto formats = traces::export_formats();
    const auto format = std::find_if(formats.begin(), formats.end(), [&](const auto& f) { return name == f.name; });
    const size_t written = export_regions(regions, *format, path(format->name), o_.program.quiet);
    say("exports: {}", written != 0 ? fmt::format("{} files written into {}", written, path(format->name)) : path(format->name) + " is there already");
  }
}

int PinPoints::report() {
  const PinPointsReport made = make_report(found_);
  simpoint::write_whole(path("report.json"), text_of(made.document));
  simpoint::write_whole(path("report.txt"), made.table);
  simpoint::write_whole(path("report.html"), made.page);
  simpoint::write_whole(path("report.svg"), made.picture);
  if (!o_.program.quiet) print_error("{}", made.table);
  if (o_.max_error == 0 || 100 * made.worst <= o_.max_error) return 0;
  print_error(
      "simrun: error: {} is off by {:.2f}%, more than the {:g}% allowed: try more phases (--max-k), more points (--points), other "
      "intervals (--interval), and for what caches count a longer warm-up (--warm-up)\n",
      made.worst_name, 100 * made.worst, o_.max_error);
  return 1;
}

}  // namespace simrun::cli
