#include "cli/phases/region_sink.h"

#include <algorithm>
#include <limits>

#include "instr/border/stream.h"
#include "instr/channel/path_counts.h"

namespace simrun::cli {

RegionSink::RegionSink(sim::Hierarchy& model, std::vector<Stop> stops, uint64_t tolerance, OnStop on_stop,
                       RegionTraces* traces)
    : model_(model), traces_(traces), stops_(std::move(stops)), tolerance_(tolerance), on_stop_(std::move(on_stop)) {
  reached_.resize(stops_.size());
  drifted_.resize(stops_.size());
  std::map<std::pair<std::string, std::string>, uint32_t> owners;
  for (size_t i = 0; i < stops_.size(); ++i) {
    const simpoint::Marker& marker = stops_[i].marker;
    watch_of_stop_.push_back(~0u);
    if (marker.count == 0) continue;
    std::vector<uint32_t>& here = watches_of_place_[{marker.process, marker.place.module, marker.place.offset}];
    const auto same =
        std::find_if(here.begin(), here.end(), [&](uint32_t watch) { return watches_[watch].thread == marker.thread; });
    watch_of_stop_.back() = same != here.end() ? *same : static_cast<uint32_t>(watches_.size());
    if (same == here.end()) {
      const auto owner = owners.emplace(std::pair{marker.process, marker.thread}, static_cast<uint32_t>(owners.size()));
      here.push_back(watch_of_stop_.back());
      watches_.push_back({marker.thread, owner.first->second});
    }
    watches_[watch_of_stop_.back()].stops.push_back(i);
  }
  last_reached_.resize(owners.size());
  uint64_t least = std::numeric_limits<uint64_t>::max();  // between stops
  for (size_t i = 1; i < stops_.size(); ++i)
    least = std::min(least, std::max<uint64_t>(stops_[i].instructions - stops_[i - 1].instructions, 1));
  near_ = std::max(tolerance_ / 8, stops_.size() > 1 ? least : 0);
  set_next_look();
}

void RegionSink::event(channel::MergeThread& merged, std::span<const uint64_t> words, channel::PathTable& paths) {
  using border::Event;
  const auto event = static_cast<Event>(static_cast<uint32_t>(words[0]));
  names_.event(merged, words);
  if (event == Event::kMappingChange && words.size() >= 10 && words[9] != 0) {
    processes_[process_of(merged)].modules.look_at(static_cast<pid_t>(merged.report.tid));
    if (traces_ != nullptr) traces_->look_at_modules(merged, paths);
  }
  if ((event == Event::kCut || event == Event::kPathCut) && words.size() >= 3) {
    take_cut(merged, words[1], words[2], paths);
    // A path that was only counted is in the numbers that its thread reports.
    if (event == Event::kCut) retired_ += words[2];
    if (event == Event::kCut && simulate_) simulated_ += words[2];
  }
  if (event == Event::kPathCounts) take_counts(merged, words.subspan(1), paths);
  if ((event == Event::kRetired || event == Event::kInterval) && words.size() >= 2) take_retired(merged, words[1]);
  if (event == Event::kModeSwitch && words.size() >= 3)
    change_mode(merged, static_cast<border::Mode>(words[1]), words[2]);
  if (simulate_ && traces_ != nullptr && traces_->any()) traces_->add_event(merged, words, paths);
}

void RegionSink::take_counts(channel::MergeThread& merged, std::span<const uint64_t> words, channel::PathTable& paths) {
  for (const auto& [path, executions] : channel::path_counts(paths.process(), words)) {
    paths.decode(path);
    if (!has_watch(merged, path, paths)) continue;
    count(merged, processes_[process_of(merged)].watches[path], executions);
  }
}

void RegionSink::count(const channel::MergeThread& merged, std::span<const uint32_t> watches, uint64_t times) {
  for (const uint32_t index : watches) {
    Watch& watch = watches_[index];
    if (!watch.thread.empty() && watch.thread != names_.of(merged.report)) continue;
    watch.executions += times;
    for (; watch.next < watch.stops.size(); ++watch.next) {
      const simpoint::Marker& marker = stops_[watch.stops[watch.next]].marker;
      if (watch.executions < (marker.thread.empty() ? marker.count : marker.thread_count)) break;
      note_reached(watch.stops[watch.next], watch.owner);
    }
  }
}

void RegionSink::note_reached(size_t stop, uint32_t owner) {
  if (reached_[stop]) return;
  if (!counts_ && retired_ + near_ < due(stop)) {
    drifted_[stop] = true;
    watch_of_stop_[stop] = ~0u;
    return;
  }
  reached_[stop] = true;
  if (stop >= next_) ++ahead_;
  last_reached_[owner] = std::max(last_reached_[owner], stop + 1);
}

// How many instructions are expected before it.
uint64_t RegionSink::due(size_t stop) const {
  const auto at = static_cast<int64_t>(stops_[stop].instructions);
  return static_cast<uint64_t>(stops_[stop].marker.count == 0 ? at : std::max<int64_t>(at + shift_, 0));
}

// The first so many instructions of a path, which a fault ended.
void RegionSink::take_cut(channel::MergeThread& merged, uint64_t word, uint64_t instructions,
                          channel::PathTable& paths) {
  paths.decode(word);
  if (!has_watch(merged, word, paths)) return;
  const Process& process = processes_[process_of(merged)];
  const auto code = paths.instructions(word);
  for (size_t i = 0; i < code.size() && i < instructions; ++i) count(merged, watches_at(process, code[i].pc), 1);
}

void RegionSink::take_retired(const channel::MergeThread& merged, uint64_t total) {
  const uint32_t index = merged.report.index;
  counts_ = true;
  if (index >= counted_.size()) counted_.resize(index + 1);
  retired_ += total - std::min(total, counted_[index]);
  counted_[index] = total;
}

void RegionSink::change_mode(const channel::MergeThread& merged, border::Mode mode, uint64_t retired) {
  if (mode == border::Mode::kCount) {
    // What was traced is in retired_ path by path. Nothing more will be simulated: a stop that should have come is
    // taken here, so that it does not become as long as what is only counted.
    if (merged.report.index >= counted_.size()) counted_.resize(merged.report.index + 1);
    counted_[merged.report.index] = retired;
    while (next_ < stops_.size() && simulate_ && retired_ >= stops_[next_].instructions) take_stop(true);
    return;
  }
  take_retired(merged, retired);
  while (next_ < stops_.size() && reached(next_))
    take_stop(stops_[next_].instructions != 0 && stops_[next_].marker.count != 0);
}

void RegionSink::meet(Process& process, const channel::MergeThread& merged, const channel::PathTable& paths) {
  process.met = true;
  const ProcessOrigin origin = origin_of_ ? origin_of_(process_of(merged)) : ProcessOrigin();
  process.name = origin.name;
  if (origin.copy_of) process.modules = processes_[*origin.copy_of].modules;  // it may have ended already
  if (origin.mappings) process.modules.know_all(*origin.mappings);
  process.modules.look_at(static_cast<pid_t>(merged.report.tid));
  if (traces_ != nullptr) traces_->look_at_modules(merged, paths);
}

std::span<const uint32_t> RegionSink::watches_at(const Process& process, uint64_t pc) const {
  const simpoint::CodePlace place = process.modules.place(pc);
  const auto found = watches_of_place_.find({process.name, place.module, place.offset});
  if (found == watches_of_place_.end()) return {};
  return found->second;
}

bool RegionSink::learn(const channel::MergeThread& merged, uint64_t word, const channel::PathTable& paths) {
  process_index_ = process_of(merged);
  Process& process = processes_[process_index_];
  merged_process_ = &process;
  if (!process.met) meet(process, merged, paths);
  if (word >= process.state.size()) process.state.resize(2 * word + 1);
  if (process.state[word] != 0) return process.state[word] == 2;
  std::vector<uint32_t> watches;
  if (!watches_.empty())
    for (const auto& instruction : paths.instructions(word)) {
      const auto here = watches_at(process, instruction.pc);
      watches.insert(watches.end(), here.begin(), here.end());
    }
  process.state[word] = watches.empty() ? 1 : 2;
  if (!watches.empty()) process.watches[word] = std::move(watches);
  return process.state[word] == 2;
}

bool RegionSink::reached(size_t stop) const {
  return watch_of_stop_[stop] == ~0u ? retired_ >= due(stop) : reached_[stop];
}

// Its marker has not come and will not: a thread executes its own in their order; several of others may still be ahead
// of their time.
bool RegionSink::is_passed(size_t stop) const {
  constexpr size_t kMostAhead = 3;
  if (watch_of_stop_[stop] == ~0u) return false;
  return last_reached_[watches_[watch_of_stop_[stop]].owner] > stop + 1 || ahead_ > kMostAhead;
}

void RegionSink::look(channel::MergeThread& merged, uint64_t word) {
  Process& process = processes_[process_of(merged)];
  if (const auto watched = process.watches.find(word); watched != process.watches.end())
    count(merged, watched->second, 1);
  while (next_ < stops_.size()) {
    const bool is_reached = reached(next_);
    if (!is_reached && retired_ < next_look_ && !is_passed(next_)) break;
    take_stop(!is_reached || drifted_[next_]);
  }
}

void RegionSink::take_stop(bool is_missed) {
  if (is_missed) missed_.push_back(next_);
  if (reached_[next_]) {
    --ahead_;
    shift_ = static_cast<int64_t>(retired_ - stops_[next_].instructions);
  }
  on_stop_(next_, retired_);
  if (!simulate_) began_.clear();
  simulate_ = stops_[next_].simulate;
  ++next_;
  set_next_look();
}

void RegionSink::finish() {
  while (next_ < stops_.size() && (reached(next_) || stops_[next_].instructions <= retired_ + tolerance_))
    take_stop(!reached(next_) || drifted_[next_]);
}

// When a stop is to be taken by the number of instructions.
void RegionSink::set_next_look() {
  next_look_ = std::numeric_limits<uint64_t>::max();
  if (next_ == stops_.size()) return;
  next_look_ = watch_of_stop_[next_] == ~0u ? due(next_) : stops_[next_].instructions + tolerance_;
}

}  // namespace simrun::cli
