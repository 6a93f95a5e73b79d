#include "cli/phases/region_sink.h"

#include <algorithm>
#include <limits>

#include "instr/border/stream.h"

namespace simrun::cli {

RegionSink::RegionSink(sim::Hierarchy& model, std::vector<Stop> stops, uint64_t tolerance, OnStop on_stop)
    : model_(model), stops_(std::move(stops)), tolerance_(tolerance), on_stop_(std::move(on_stop)) {
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

void RegionSink::event(channel::MergeThread& merged, std::span<const uint64_t> words) {
  const auto event = static_cast<border::Event>(static_cast<uint32_t>(words[0]));
  if (event == border::Event::kMappingChange && words.size() >= 10 && words[9] != 0)
    processes_[process_of(merged)].modules.look_at(static_cast<pid_t>(merged.report.tid));
  if (event == border::Event::kCut && words.size() >= 3) retired_ += words[2];
}

bool RegionSink::learn(const channel::MergeThread& merged, uint64_t word, const channel::PathTable& paths) {
  process_index_ = process_of(merged);
  Process& process = processes_[process_index_];
  merged_process_ = &process;
  if (!process.met) process.modules.look_at(static_cast<pid_t>(merged.report.tid));
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

void RegionSink::look(const channel::MergeThread& merged, uint64_t word) {
  Process& process = processes_[process_of(merged)];
  if (const auto watched = process.watches.find(word); watched != process.watches.end())
    for (const uint32_t watch : watched->second) ++executions_[watch];
  while (next_ < stops_.size()) {
    const bool is_reached = reached(stops_[next_], watch_of_stop_[next_]);
    if (!is_reached && retired_ < next_look_) break;
    if (!is_reached) missed_.push_back(next_);
    on_stop_(next_, retired_);
    simulate_ = stops_[next_].simulate;
    ++next_;
    set_next_look();
  }
}

// When a stop is to be taken by the number of instructions.
void RegionSink::set_next_look() {
  next_look_ = std::numeric_limits<uint64_t>::max();
  if (next_ < stops_.size()) next_look_ = stops_[next_].instructions + (watch_of_stop_[next_] == ~0u ? 0 : tolerance_);
}

}  // namespace simrun::cli
