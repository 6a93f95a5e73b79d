#include "cli/hot_spots.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/sharing/describe_places.h"
#include "cli/sharing_sink.h"

namespace simrun::cli {

namespace {

// What a miss of each level costs beyond what that level would have taken; 1 each when the machine has no latencies.
std::array<uint64_t, sim::kMaxLevels> costs_of_misses(const sim::MachineConfig& machine) {
  std::array<uint64_t, sim::kMaxLevels> costs{};
  const auto latency = [&](size_t level) -> uint64_t {
    if (level == machine.levels.size()) return machine.memory_latency;
    const sim::LevelConfig& l = machine.levels[level];
    return l.split ? l.data.latency : l.unified.latency;
  };
  for (size_t level = 0; level < machine.levels.size(); ++level) {
    const uint64_t here = latency(level), next = latency(level + 1);
    costs[level] = machine.memory_latency == 0 ? 1 : next > here ? next - here : 0;
  }
  return costs;
}

template <class Misses>
uint64_t cost(const Misses& misses, const std::array<uint64_t, sim::kMaxLevels>& costs) {
  uint64_t sum = 0;
  for (size_t level = 0; level < costs.size(); ++level) sum += misses[level] * costs[level];
  return sum;
}

// The `limit` worst; of equals the one with the lower address, so that reports repeat.
template <class T, class Address>
void keep_worst(std::vector<T>& all, size_t limit, Address address) {
  limit = std::min(limit, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<ptrdiff_t>(limit), all.end(), [&](const T& a, const T& b) {
    return a.stall_cycles != b.stall_cycles ? a.stall_cycles > b.stall_cycles : address(a) < address(b);
  });
  all.resize(limit);
}

}  // namespace

HotSpots find_hot_spots(const SharingSink& sink, size_t limit) {
  const sim::Hierarchy& model = sink.model();
  const auto costs = costs_of_misses(model.config());
  HotSpots spots;
  for (const auto& [key, counts] : model.details()->pcs())
    if (counts.misses[0] != 0)
      spots.instructions.push_back({key.process, key.pc, {}, {}, counts, cost(counts.misses, costs)});
  keep_worst(spots.instructions, limit, [](const HotInstruction& i) { return std::pair(i.process, i.pc); });
  for (HotInstruction& i : spots.instructions) {
    const analysis::AddressSpace* space = sink.space_of(i.process);
    if (space == nullptr) continue;
    analysis::PlaceNames names(*space);
    const analysis::Place place = space->code_place(i.pc);
    i.frames = names.code(place);
    i.module = names.module(place);
  }
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> numbers;  // of lines in the model
  for (const auto& [number, record] : model.details()->lines().all()) {
    if (record.misses[0] == 0) continue;
    HotLine line;
    const SharingSink::LinePlace place = sink.place_of_line(number);
    line.address = place.address;
    line.process = place.process;
    numbers[{line.process, line.address}] = number;
    line.misses = record.misses;
    line.sharing = record.sharing;
    line.threads = record.threads.size();
    for (const sim::ThreadUse& use : record.threads) line.reads += use.reads, line.writes += use.writes;
    line.stall_cycles = cost(record.misses, costs);
    spots.lines.push_back(std::move(line));
  }
  keep_worst(spots.lines, limit, [](const HotLine& l) { return std::pair(l.process, l.address); });
  for (HotLine& line : spots.lines)
    if (const analysis::AddressSpace* space = sink.space_of(line.process); space != nullptr)
      line.data = analysis::PlaceNames(*space).data(sink.place_of_line(numbers[{line.process, line.address}]).place);
  return spots;
}

}  // namespace simrun::cli
