// The work of `simrun pinpoints`: profile, analysis, regions, whole run, report. Each part that is done stays in the
// folder; a repeated call goes on behind it (docs/phases.md has the files).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/phases/block_profiler.h"
#include "cli/phases/clustering_options.h"
#include "cli/phases/folder_lock.h"
#include "cli/phases/pinpoints_report.h"
#include "cli/phases/recorded_run.h"
#include "cli/phases/region_pass.h"
#include "cli/print_error.h"
#include "cli/program_options.h"
#include "cli/run_result.h"

namespace simrun::cli {

struct PinPointsOptions {
  ProgramOptions program;
  ProfilerOptions profile;
  AnalysisOptions analysis;
  std::string config, folder;
  std::string trace;     // instead of the program; empty: the program
  std::string simpoints, weights;   // files of SimPoint's, instead of an analysis; empty: analyse
  bool record = false;   // the program runs once, into a trace, and all is done from that
  std::optional<uint64_t> warm_up;  // instructions; none: usual_warm_up()
  bool validate = false, restart = false;
  bool traces = true;    // one for each region
  std::vector<std::string> to;  // formats in which the traces are wanted, too
  bool states = false;   // of the caches at the start of each, out of the whole run
  double max_error = 0;  // percent; 0: whatever it is
};

// Instructions that are simulated before each of `regions` regions unless the user says how many: what fills the last level at one miss for 1000
// instructions, as far as that makes no more than a fifth of the run of `instructions` in all; five intervals (of `interval` instructions) in any case.
uint64_t usual_warm_up(const sim::MachineConfig& machine, uint64_t instructions, uint64_t interval, uint64_t regions);

class PinPoints {
 public:
  // Throws UserError.
  explicit PinPoints(PinPointsOptions options);

  // The exit status. Throws UserError.
  int run();

 private:
  // In the folder.
  static constexpr const char* kRun = "run.trace";
  static constexpr const char* kProfile = "profile.bb.zst";
  static constexpr const char* kRegions = "regions.json";
  static constexpr const char* kWhole = "whole.json";
  static constexpr const char* kTraces = "regions";
  static constexpr const char* kPart = "regions.part.json";
  static constexpr const char* kPartState = "regions.part.state";
  static constexpr const char* kAsked = "asked.json";
  static constexpr const char* kFiles = "regions.files.json";   // which regions the files in kTraces are of
  static constexpr const char* kOfOneRun[] = {kProfile, kRegions, kWhole, kPart, kPartState, kFiles};
  std::string path(const char* name) const { return o_.folder + "/" + name; }
  // Names of programs and files are any bytes, JSON is UTF-8.
  template <class Json>
  static std::string text_of(const Json& document) {
    return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  template <class... Arguments>
  void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    if (!o_.program.quiet) print_error("simrun: {}\n", fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  void open_folder();
  uint64_t most_regions() const;
  // Throws UserError: an earlier call was for something else.
  void check_is_asked(const nlohmann::json& before, const nlohmann::json& now) const;
  void take_back_folder() const;
  void record();
  void make_profile();
  void analyse();
  std::vector<simpoint::SimulationPoint> given_points(size_t intervals) const;
  void simulate_regions();
  void simulate_all();
  int report();

  template <class Sink>
  RunResult run_program(Sink& sink, const char* what, const std::vector<border::ModeSwitch>& switches);
  void check_builds(const char* what) const;
  void check_end(const RunResult& result, const char* what) const;
  // How far an earlier call came in a pass: what it measured, and the caches as they were then.
  struct Part {
    size_t stop = 0;  // the next one
    std::vector<simpoint::Counts> rows;
    uint64_t instructions = 0;  // of the run before that stop
  };
  // `part`: nullptr, or what is kept from time to time; it may hold something to begin with.
  std::vector<simpoint::Counts> simulate(const RegionPass& pass, const char* what, Part* part = nullptr);
  Part load_part(const RegionPass& pass) const;
  void save_part(const Part& part, const sim::Hierarchy& model) const;
  bool is_of_region(const std::string& file) const;  // by its name
  void remove_files_of_others() const;
  void warn_of_files_of_others() const;
  void remove_traces(const RegionPass& pass) const;
  std::string program_name() const;
  std::string state_file(const simpoint::Region& region) const;
  void replay_regions();
  void export_traces() const;
  void check_found(const RegionSink& sink, const std::vector<Stop>& stops, const char* what) const;
  const char* advice_on_other_runs() const;   // when the runs differ too much

  // Rows of counts that an earlier call kept. False: not there, or of another machine or other regions.
  nlohmann::json key(bool regions) const;
  bool load(const char* name, bool regions, std::vector<simpoint::Counts>& rows) const;
  void save(const char* name, bool regions, const std::vector<simpoint::Counts>& rows) const;

  PinPointsOptions o_;
  std::optional<FolderLock> lock_;
  std::optional<RecordedRun> recorded_;
  Findings found_;
  bool made_folder_ = false;
  long input_ = -1;  // where the program's standard input stood at first; -1: no file
  int runs_ = 0;
  mutable bool said_how_it_ended_ = false;
};

}  // namespace simrun::cli
