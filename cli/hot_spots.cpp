#include "cli/hot_spots.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/sharing/describe_places.h"
#include "cli/sharing_sink.h"
#include "cli/trace_symbols.h"

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

// Who knows what a model's addresses are.
class Names {
 public:
  virtual ~Names() = default;
  virtual void name(HotInstruction& instruction) = 0;
  // Of a line, by its number in the model: sets the process and the address there.
  virtual void place(HotLine& line, uint64_t number) = 0;
  virtual void name(HotLine& line, uint64_t number) = 0;
};

class NamesOfRun final : public Names {
 public:
  explicit NamesOfRun(const SharingSink& sink) : sink_(sink) {}
  void name(HotInstruction& i) override {
    const analysis::AddressSpace* space = sink_.space_of(i.process);
    if (space == nullptr) return;
    analysis::PlaceNames names(*space);
    const analysis::Place place = space->code_place(i.pc);
    i.frames = names.code(place);
    i.module = names.module(place);
  }
  void place(HotLine& line, uint64_t number) override {
    const SharingSink::LinePlace place = sink_.place_of_line(number);
    line.address = place.address;
    line.process = place.process;
  }
  void name(HotLine& line, uint64_t number) override {
    if (const analysis::AddressSpace* space = sink_.space_of(line.process); space != nullptr)
      line.data = analysis::PlaceNames(*space).data(sink_.place_of_line(number).place);
  }

 private:
  const SharingSink& sink_;
};

class NamesOfTrace final : public Names {
 public:
  NamesOfTrace(uint32_t line_bytes, const LinePlaces& places, TraceSymbols& symbols)
      : line_bytes_(line_bytes), places_(places), symbols_(symbols) {}
  void name(HotInstruction& i) override {
    TraceSymbols::Code code = symbols_.code(i.process, i.pc);
    i.frames = std::move(code.frames);
    i.module = std::move(code.module);
  }
  void place(HotLine& line, uint64_t number) override {
    const uint64_t address = number * line_bytes_;
    if (const auto known = places_.find(number); known != places_.end()) {
      line.process = known->second.process, line.address = known->second.address;
      return;
    }
    line.process = static_cast<uint32_t>(address >> kProcessShift);
    line.address = untagged(address);
  }
  void name(HotLine&, uint64_t) override {}

 private:
  uint64_t line_bytes_;
  const LinePlaces& places_;
  TraceSymbols& symbols_;
};

std::vector<HotInstruction> find_instructions(const sim::Hierarchy& model, Names& names, size_t limit) {
  const auto costs = costs_of_misses(model.config());
  std::vector<HotInstruction> all;
  for (const auto& [key, counts] : model.details()->pcs())
    if (counts.misses[0] != 0 || counts.sharing.upgrades != 0) all.push_back({key.process, key.pc, {}, {}, counts, cost(counts.misses, costs)});
  keep_worst(all, limit, [](const HotInstruction& i) { return std::pair(i.process, i.pc); });
  for (HotInstruction& i : all) names.name(i);
  return all;
}

std::vector<HotLine> find_lines(const sim::Hierarchy& model, Names& names, size_t limit) {
  const auto costs = costs_of_misses(model.config());
  std::vector<HotLine> all;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> numbers;  // of lines in the model
  for (const auto& [number, record] : model.details()->lines().all()) {
    if (record.misses[0] == 0 && record.sharing.upgrades == 0) continue;
    HotLine line;
    names.place(line, number);
    numbers[{line.process, line.address}] = number;
    line.misses = record.misses;
    line.sharing = record.sharing;
    line.threads = record.threads.size();
    for (const sim::ThreadUse& use : record.threads) line.reads += use.reads, line.writes += use.writes;
    line.stall_cycles = cost(record.misses, costs);
    all.push_back(std::move(line));
  }
  keep_worst(all, limit, [](const HotLine& l) { return std::pair(l.process, l.address); });
  for (HotLine& line : all) names.name(line, numbers[{line.process, line.address}]);
  return all;
}

}  // namespace

HotSpots find_hot_spots(const SharingSink& sink, size_t limit) {
  NamesOfRun names(sink);
  return {find_instructions(sink.model(), names, limit), find_lines(sink.model(), names, limit)};
}

HotSpots find_hot_spots(const sim::Hierarchy& model, const LinePlaces& places, TraceSymbols& symbols, size_t limit) {
  NamesOfTrace names(model.line_bytes(), places, symbols);
  return {find_instructions(model, names, limit), find_lines(model, names, limit)};
}

}  // namespace simrun::cli
