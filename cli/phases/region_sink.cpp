#include "cli/phases/region_sink.h"

#include <algorithm>
#include <limits>

#include "instr/border/stream.h"

namespace simrun::cli {

RegionSink::RegionSink(sim::Hierarchy& model, std::vector<Stop> stops, uint64_t tolerance, OnStop on_stop,
                       RegionTraces* traces)
    : model_(model), traces_(traces), stops_(std::move(stops)), tolerance_(tolerance), on_stop_(std::move(on_stop)) {
  for (const Stop& stop : stops_) {
    const std::pair place(stop.marker.place.module, stop.marker.place.offset);
    const auto watch =
        stop.marker.count == 0
            ? ~0u
            : watch_of_place_.emplace(place, static_cast<uint32_t>(watch_of_place_.size())).first->second;
    watch_of_stop_.push_back(watch);
  }
  executions_.resize(watch_of_place_.size());
  set_next_look();
}

void RegionSink::event(channel::MergeThread& merged, std::span<const uint64_t> words, channel::PathTable& paths) {
  using border::Event;
  const auto event = static_cast<Event>(static_cast<uint32_t>(words[0]));
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

void RegionSink::take_counts(channel::MergeThread& merged, std::span<const uint64_t> pairs, channel::PathTable& paths) {
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    paths.decode(pairs[i]);
    if (!has_watch(merged, pairs[i], paths)) continue;
    for (const uint32_t watch : processes_[process_of(merged)].watches[pairs[i]]) executions_[watch] += pairs[i + 1];
  }
}

// The first so many instructions of a path, which a fault ended.
void RegionSink::take_cut(channel::MergeThread& merged, uint64_t word, uint64_t instructions,
                          channel::PathTable& paths) {
  paths.decode(word);
  if (!has_watch(merged, word, paths)) return;
  const Process& process = processes_[process_of(merged)];
  const auto code = paths.code(word).instructions;
  for (size_t i = 0; i < code.size() && i < instructions; ++i) {
    const simpoint::CodePlace place = process.modules.place(code[i].pc);
    const auto watch = watch_of_place_.find({place.module, place.offset});
    if (watch != watch_of_place_.end()) ++executions_[watch->second];
  }
}

void RegionSink::take_retired(const channel::MergeThread& merged, uint64_t total) {
  const uint32_t index = merged.report.index;
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
  while (next_ < stops_.size() && reached(stops_[next_], watch_of_stop_[next_]))
    take_stop(stops_[next_].instructions != 0 && stops_[next_].marker.count != 0);
}

bool RegionSink::learn(const channel::MergeThread& merged, uint64_t word, const channel::PathTable& paths) {
  process_index_ = process_of(merged);
  Process& process = processes_[process_index_];
  merged_process_ = &process;
  if (!process.met) process.modules.look_at(static_cast<pid_t>(merged.report.tid));
  if (!process.met && traces_ != nullptr) traces_->look_at_modules(merged, paths);
  process.met = true;
  if (word >= process.state.size()) process.state.resize(2 * word + 1);
  if (process.state[word] != 0) return process.state[word] == 2;
  std::vector<uint32_t> watches;
  if (!watch_of_place_.empty())
    for (const auto& instruction : paths.code(word).instructions) {
      const simpoint::CodePlace place = process.modules.place(instruction.pc);
      const auto watch = watch_of_place_.find({place.module, place.offset});
      if (watch != watch_of_place_.end()) watches.push_back(watch->second);
    }
  process.state[word] = watches.empty() ? 1 : 2;
  if (!watches.empty()) process.watches[word] = std::move(watches);
  return process.state[word] == 2;
}

bool RegionSink::reached(const Stop& stop, uint32_t watch) const {
  if (watch == ~0u) return retired_ >= stop.instructions;
  return executions_[watch] >= stop.marker.count;
}

void RegionSink::look(channel::MergeThread& merged, uint64_t word) {
  Process& process = processes_[process_of(merged)];
  if (const auto watched = process.watches.find(word); watched != process.watches.end())
    for (const uint32_t watch : watched->second) ++executions_[watch];
  while (next_ < stops_.size()) {
    const bool is_reached = reached(stops_[next_], watch_of_stop_[next_]);
    if (!is_reached && retired_ < next_look_) break;
    take_stop(!is_reached);
  }
}

void RegionSink::take_stop(bool is_missed) {
  if (is_missed) missed_.push_back(next_);
  on_stop_(next_, retired_);
  if (!simulate_) began_.clear();
  simulate_ = stops_[next_].simulate;
  ++next_;
  set_next_look();
}

// When a stop is to be taken by the number of instructions.
void RegionSink::set_next_look() {
  next_look_ = std::numeric_limits<uint64_t>::max();
  if (next_ < stops_.size()) next_look_ = stops_[next_].instructions + (watch_of_stop_[next_] == ~0u ? 0 : tolerance_);
}

}  // namespace simrun::cli
