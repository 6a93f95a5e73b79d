// What `simrun pinpoints` keeps in its folder, and what of an earlier call's is of use.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/user_error.h"
#include "cli/file_identity.h"
#include "cli/phases/pinpoints.h"
#include "cli/phases/region_exports.h"
#include "cli/phases/run_counts.h"
#include "cli/phases/stored_state.h"
#include "cli/trace_information.h"
#include "configs/read_machine.h"
#include "simpoint/write_bytes.h"
#include "simpoint/write_profile.h"

namespace simrun::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using simpoint::Counts;
using simpoint::Region;

json identity_of_input() {
  struct stat s {};
  return fstat(STDIN_FILENO, &s) == 0 ? identity_of(s) : json();
}

}  // namespace

// What an earlier call in this folder was for must be what this one is for.
void PinPoints::open_folder() {
  std::error_code error;
  made_folder_ = fs::create_directories(o_.folder, error);
  if (!fs::is_directory(o_.folder))
    throw UserError(fmt::format("cannot make the folder {}: {}", o_.folder, error ? error.message() : "it is none"));
  lock_.emplace(o_.folder);
  const json asked = {{"command", o_.program.command},
                      {"interval", o_.profile.length},
                      {"intervals", simpoint::to_word(o_.profile.kind)},
                      {"leave_out", o_.profile.left_out},
                      {"exact_order", o_.profile.from_trace},
                      {"strings", o_.profile.strings},
                      {"distances", o_.profile.distances},
                      {"trace", o_.trace},
                      {"record", o_.record},
                      {"follow_children", o_.program.follow_children},
                      {"wait_for_children", o_.program.wait_for_children},
                      {"quantum", o_.program.quantum},
                      {"time_slice", o_.program.time_slice},
                      {"aslr", o_.program.aslr},
                      {"program_file", recorded_ ? json() : identity_of(program_file(o_.program.command, std::getenv("PATH")))},
                      {"trace_file", recorded_ ? identity_of(o_.trace) : json()},
                      {"environment", recorded_ ? json() : json(telling_environment())},
                      {"standard_input", recorded_ ? json() : identity_of_input()}};
  if (o_.restart) {
    for (const char* name : {kRun, kAsked}) fs::remove(path(name), error);
    for (const char* name : kOfOneRun) fs::remove(path(name), error);
  }
  const std::string text = text_of(asked);
  std::ifstream file(path(kAsked));
  if (file) check_is_asked(json::parse(file, nullptr, false), json::parse(text));
  simpoint::write_whole(path(kAsked), text);
}

void PinPoints::check_is_asked(const json& before, const json& now) const {
  for (const auto& [name, value] : now.items()) {
    if (!before.contains(name)) throw UserError(fmt::format("{} is damaged, or of another version of simrun: give another folder, or --restart", o_.folder));
    if (before.at(name) != value)
      throw UserError(fmt::format("{} holds the results of another program or other intervals ({} was another): give another folder, or --restart",
                                  o_.folder, name));
  }
}

// Nothing has come into it but what was asked for.
void PinPoints::take_back_folder() const {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(o_.folder, error))
    if (entry.path().filename() != kAsked && entry.path().filename() != FolderLock::kFile) return;
  for (const char* name : {kAsked, FolderLock::kFile}) fs::remove(path(name), error);
  fs::remove(o_.folder, error);
}

// What the rows of a file depend on beside the folder's program.
json PinPoints::key(bool regions) const {
  json k = {{"machine", configs::to_json(found_.machine)}, {"counts", kCounts}, {"intervals", found_.profile.intervals.size()}};
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

// What an interrupted pass over the same regions left; nothing when its traces are no longer there.
PinPoints::Part PinPoints::load_part(const RegionPass& pass) const {
  std::ifstream file(path(kPart));
  const json document = file ? json::parse(file, nullptr, false) : json();
  if (!document.is_object() || document.value("key", json()) != key(true)) return {};
  Part part{document.value("stop", size_t{0}), document.value("rows", std::vector<Counts>()), document.value("instructions", uint64_t{0})};
  if (part.instructions == 0 || part.stop >= pass.stops.size() || !is_state_of(path(kPartState), found_.machine)) return {};
  for (size_t stop = 0; stop < part.stop && !pass.traces.empty(); ++stop)
    for (const size_t region : pass.begins[stop])
      if (!fs::exists(pass.traces[region].file)) return {};
  say("regions: goes on behind {} of {} stretches", part.rows.size(), found_.plan.changes.size());
  return part;
}

void PinPoints::save_part(const Part& part, const sim::Hierarchy& model) const {
  std::error_code error;
  fs::remove(path(kPart), error);  // it must not be taken for that of another state
  write_state(path(kPartState), model);
  simpoint::write_whole(path(kPart), json{{"key", key(true)}, {"stop", part.stop}, {"rows", part.rows}, {"instructions", part.instructions}}.dump() + "\n");
}

bool PinPoints::is_of_region(const std::string& file) const { return fs::path(file).filename().string().starts_with(program_name() + "_r"); }

// A region's files have its number, phase and weight in their names, not where it lies: those of another plan go.
void PinPoints::remove_files_of_others() const {
  json files = {{"instructions", found_.profile.instructions}, {"traces", json::array()}, {"states", json::array()}};
  for (const Region& r : found_.plan.regions) {
    files["traces"].push_back({r.interval, r.start, r.length, r.warm_up});
    files["states"].push_back({r.interval, r.start});
  }
  std::ifstream file(path(kFiles));
  const json before = file ? json::parse(file, nullptr, false) : json();
  const auto is_same = [&](const char* part) {
    return before.is_object() && before.value("instructions", json()) == files["instructions"] && before.value(part, json()) == files[part];
  };
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path(kTraces), error)) {
    const std::string name = entry.path();
    if (!is_of_region(name)) continue;
    if ((!is_same("traces") && (name.ends_with(".trace") || name.ends_with(".trace.partial"))) || (!is_same("states") && name.ends_with(".state")))
      fs::remove(entry.path(), error);
  }
  simpoint::write_whole(path(kFiles), files.dump() + "\n");
}

// What an earlier call exported, or traced, and this one does not make anew has other weights in its names and tables.
void PinPoints::warn_of_files_of_others() const {
  std::vector<std::string> ours;
  for (const Region& r : found_.plan.regions) ours.push_back(region_name(program_name(), r));
  if (!o_.traces) warn_of_other_regions(path(kTraces), program_name(), ours);
  for (const auto& format : traces::export_formats())
    if (std::find(o_.to.begin(), o_.to.end(), format.name) == o_.to.end()) warn_of_other_regions(path(format.name), program_name(), ours);
}

// Files of other regions, or of a pass that was not finished.
void PinPoints::remove_traces(const RegionPass& pass) const {
  std::set<std::string> ours;
  for (const RegionTrace& trace : pass.traces) ours.insert(trace.file);
  for (const Region& region : found_.plan.regions) ours.insert(state_file(region));
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path(kTraces), error)) {
    const std::string name = entry.path();
    const bool is_made = is_of_region(name) && (name.ends_with(".trace") || name.ends_with(".trace.partial") || name.ends_with(".state"));
    if (is_made && !ours.contains(name)) fs::remove(entry.path(), error);
  }
}

std::string PinPoints::state_file(const Region& region) const {
  return path(kTraces) + "/" + region_name(program_name(), region) + ".state";
}

std::string PinPoints::program_name() const { return fs::path(o_.program.command[0]).filename(); }

}  // namespace simrun::cli
