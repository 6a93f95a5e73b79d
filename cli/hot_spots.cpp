#include "cli/hot_spots.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/sharing/describe_places.h"
#include "cli/sharing_sink.h"
#include "cli/trace_symbols.h"

namespace simrun::cli {

namespace {

Cost cost_of(const sim::LatencyCycles& latency, const sim::CoreConfig& core) { return {latency.stalls(core), latency.total()}; }

const auto& misses_of(const HotLine& line) { return line.misses; }
template <class Entry>
const auto& misses_of(const Entry& entry) {
  return entry.counts.misses;
}

// The `limit` worst; of equals the one with the lower address or name, so that reports repeat.
template <class Entry, class Key>
void keep_worst(std::vector<Entry>& all, size_t limit, Key key) {
  limit = std::min(limit, all.size());
  const auto weight = [](const Entry& e) {
    const auto& misses = misses_of(e);
    return std::tuple(e.cost.stall_cycles, e.cost.latency_cycles, std::accumulate(misses.begin(), misses.end(), uint64_t{0}));
  };
  std::partial_sort(all.begin(), all.begin() + static_cast<ptrdiff_t>(limit), all.end(), [&](const Entry& a, const Entry& b) {
    return weight(a) != weight(b) ? weight(a) > weight(b) : key(a) < key(b);
  });
  all.resize(limit);
}

// All code of a module is one object.
std::string code_of(const analysis::AddressSpace& space, const analysis::Place& place) {
  return "code of " + std::filesystem::path(space.modules()[place.id]->path()).filename().string();
}

// Who knows what a model's addresses are.
class Names {
 public:
  virtual ~Names() = default;
  virtual void name(HotInstruction& instruction) = 0;
  // Sets module and function of the code at `pc`; its last byte, as far as that is known (else `pc`).
  virtual uint64_t name(HotFunction& function, uint64_t pc) = 0;
  // Of a line, by its number in the model: sets the process and the address there.
  virtual void place(HotLine& line, uint64_t number) = 0;
  virtual void name(HotLine& line, uint64_t number) = 0;
};

uint64_t set_function(HotFunction& f, const std::optional<analysis::LinkedFunction>& known, uint64_t pc, uint64_t file_address) {
  if (!known) return pc;
  f.function = known->name;
  return pc + (known->end - file_address) - 1;
}

class NamesOfRun final : public Names {
 public:
  explicit NamesOfRun(const SharingSink& sink) : sink_(sink) {}
  void name(HotInstruction& i) override {
    const analysis::AddressSpace* space = sink_.space_of(i.process);
    if (space == nullptr) return;
    analysis::PlaceNames& names = names_in(*space);
    const analysis::Place place = space->code_place(i.pc);
    i.frames = names.code(place);
    i.module = names.module(place);
  }
  uint64_t name(HotFunction& f, uint64_t pc) override {
    const analysis::AddressSpace* space = sink_.space_of(f.process);
    const analysis::Place place = space == nullptr ? analysis::Place{} : space->code_place(pc);
    if (place.kind != analysis::PlaceKind::kModule) return pc;
    analysis::ModuleSymbols& module = *space->modules()[place.id];
    f.module = module.path();
    return set_function(f, module.function(place.offset), pc, place.offset);
  }
  void place(HotLine& line, uint64_t number) override {
    const MissedPlaces* missed = sink_.missed_places(number);
    line.address = missed == nullptr ? number * sink_.model().line_bytes() : missed->all()[0].line_address;
    line.process = missed == nullptr ? 0 : missed->all()[0].process;
  }
  // By the object that most of its misses were on, and of that by the byte.
  void name(HotLine& line, uint64_t number) override {
    const MissedPlaces* missed = sink_.missed_places(number);
    if (missed == nullptr) return;
    struct OfObject {
      uint64_t misses = 0;
      const MissedPlace* most = nullptr;
    };
    std::map<std::tuple<uint32_t, std::string, std::vector<std::string>>, OfObject> objects;
    for (const MissedPlace& place : missed->all()) {
      analysis::ObjectName object;
      if (place.is_code)
        object.name = code_of(*sink_.space_of(place.process), place.place);
      else
        object = names_in(*sink_.space_of(place.process)).object(place.place);
      OfObject& of = objects[{place.process, std::move(object.name), std::move(object.allocated_by)}];
      of.misses += place.misses;
      if (of.most == nullptr || of.most->misses < place.misses) of.most = &place;
    }
    const auto worst = std::max_element(objects.begin(), objects.end(), [](const auto& a, const auto& b) { return a.second.misses < b.second.misses; });
    const MissedPlace& place = *worst->second.most;
    line.process = place.process, line.address = place.line_address;
    if (place.is_code)
      line.data.object = std::get<1>(worst->first), line.data.offset = static_cast<int64_t>(place.place.offset);
    else
      line.data = names_in(*sink_.space_of(place.process)).data(place.place);
  }

 private:
  analysis::PlaceNames& names_in(const analysis::AddressSpace& space) { return names_.try_emplace(&space, space).first->second; }

  const SharingSink& sink_;
  std::map<const analysis::AddressSpace*, analysis::PlaceNames> names_;   // what they know of allocations is worked out once
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
  uint64_t name(HotFunction& f, uint64_t pc) override {
    TraceSymbols::Function function = symbols_.function(f.process, pc);
    f.module = std::move(function.module);
    return set_function(f, function.linked, pc, function.address);
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

bool costs(const sim::OriginCounts& counts) {
  const bool missed = std::any_of(counts.misses.begin(), counts.misses.end(), [](uint64_t m) { return m != 0; });
  return missed || counts.sharing.upgrades != 0;
}

std::vector<HotInstruction> hottest_instructions(const sim::Hierarchy& model, Names& names, size_t limit) {
  std::vector<HotInstruction> all;
  for (const auto& [key, counts] : model.details()->pcs())
    if (costs(counts)) all.push_back({key.process, key.pc, {}, {}, counts, cost_of(counts.latency, model.config().core)});
  keep_worst(all, limit, [](const HotInstruction& i) { return std::pair(i.process, i.pc); });
  for (HotInstruction& i : all) names.name(i);
  return all;
}

std::vector<HotFunction> hottest_functions(const sim::Hierarchy& model, Names& names, size_t limit) {
  std::vector<std::pair<sim::PcKey, sim::OriginCounts>> pcs(model.details()->pcs().begin(), model.details()->pcs().end());
  std::sort(pcs.begin(), pcs.end(), [](const auto& a, const auto& b) { return std::pair(a.first.process, a.first.pc) < std::pair(b.first.process, b.first.pc); });
  std::map<std::tuple<uint32_t, std::string, std::string>, HotFunction> functions;
  HotFunction* function = nullptr;
  uint64_t last = 0;  // byte of it that is known
  for (const auto& [key, counts] : pcs) {
    if (function == nullptr || function->process != key.process || key.pc > last) {
      HotFunction next{key.process, {}, {}, {}, {}};
      last = names.name(next, key.pc);
      function = &functions.try_emplace({next.process, next.module, next.function}, std::move(next)).first->second;
    }
    function->counts += counts;
  }
  std::vector<HotFunction> all;
  for (auto& [key, f] : functions) {
    if (!costs(f.counts)) continue;
    f.cost = cost_of(f.counts.latency, model.config().core);
    all.push_back(std::move(f));
  }
  keep_worst(all, limit, [](const HotFunction& f) { return std::tie(f.process, f.module, f.function); });
  return all;
}

std::vector<HotObject> hottest_objects(const SharingSink& sink, size_t limit) {
  std::vector<const std::pair<const ObjectKey, ObjectCounts>*> bytes;
  for (const auto& entry : sink.objects().all()) bytes.push_back(&entry);
  const auto order = [](const ObjectKey& k) { return std::tuple(k.process, k.is_code, k.place.kind, k.place.id, k.place.offset); };
  std::sort(bytes.begin(), bytes.end(), [&](const auto* a, const auto* b) { return order(a->first) < order(b->first); });
  std::map<std::tuple<uint32_t, std::string, std::vector<std::string>>, HotObject> objects;
  HotObject* object = nullptr;
  ObjectKey first;
  uint64_t same = 0;
  for (const auto* entry : bytes) {
    const ObjectKey& key = entry->first;
    const uint64_t further = key.place.offset - first.place.offset;
    const bool in_a_module = key.place.kind == analysis::PlaceKind::kModule && !key.is_code;
    ObjectKey here = key;
    here.place.offset = first.place.offset;
    if (object == nullptr || here != first || (further != 0 && (!in_a_module || further > same))) {
      const analysis::AddressSpace& space = *sink.space_of(key.process);
      analysis::ObjectName name;
      if (key.is_code)
        name.name = code_of(space, key.place);
      else
        name = analysis::PlaceNames(space).object(key.place);
      first = key, same = name.same;
      object = &objects.try_emplace({key.process, name.name, name.allocated_by}).first->second;
      object->process = key.process, object->bytes = name.size;
      object->object = std::move(name.name), object->allocated_by = std::move(name.allocated_by);
    }
    object->counts += entry->second;
  }
  std::vector<HotObject> all;
  for (auto& [key, o] : objects) {
    if (o.counts.blocks != 0) o.bytes = o.counts.bytes;
    o.cost = cost_of(o.counts.latency, sink.model().config().core);
    all.push_back(std::move(o));
  }
  keep_worst(all, limit, [](const HotObject& o) { return std::tie(o.process, o.object, o.allocated_by); });
  return all;
}

std::vector<HotLine> hottest_lines(const sim::Hierarchy& model, Names& names, size_t limit) {
  std::vector<HotLine> all;
  for (const auto& [number, record] : model.details()->lines().all()) {
    if (record.misses[0] == 0 && record.sharing.upgrades == 0) continue;
    HotLine line;
    line.number = number;
    names.place(line, number);
    line.misses = record.misses;
    line.sharing = record.sharing;
    line.threads = record.threads.size();
    for (const sim::ThreadUse& use : record.threads) line.reads += use.reads, line.writes += use.writes;
    line.cost = cost_of(record.latency, model.config().core);
    all.push_back(std::move(line));
  }
  keep_worst(all, limit, [](const HotLine& l) { return std::tuple(l.process, l.address, l.number); });
  for (HotLine& line : all) names.name(line, line.number);
  return all;
}

}  // namespace

HotSpots find_hot_spots(const SharingSink& sink, size_t limit) {
  NamesOfRun names(sink);
  return {hottest_functions(sink.model(), names, limit), hottest_instructions(sink.model(), names, limit), hottest_objects(sink, limit),
          hottest_lines(sink.model(), names, limit)};
}

HotSpots find_hot_spots(const sim::Hierarchy& model, const LinePlaces& places, TraceSymbols& symbols, size_t limit) {
  NamesOfTrace names(model.line_bytes(), places, symbols);
  return {hottest_functions(model, names, limit), hottest_instructions(model, names, limit), {}, hottest_lines(model, names, limit)};
}

}  // namespace simrun::cli
