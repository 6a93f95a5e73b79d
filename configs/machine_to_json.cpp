// The resolved machine as JSON, in the keys of configs/README.md.
#include "configs/machine_words.h"
#include "configs/read_machine.h"

namespace simrun::configs {

namespace {

template <typename Enum>
const std::string& word(const std::vector<std::string>& words, Enum value) {
  return words[static_cast<size_t>(value)];
}

nlohmann::json to_json(const sim::CacheShape& shape) {
  nlohmann::json json = {{"size", shape.size_bytes}, {"ways", shape.ways}, {"latency", shape.latency}};
  for (const sim::PrefetchConfig& p : shape.prefetch)
    json["prefetch"].push_back(
        {{"kind", word(kPrefetchWords, p.kind)}, {"degree", p.degree}, {"distance", p.distance}});
  return json;
}

nlohmann::json to_json(const sim::TlbShape& shape) { return {{"entries", shape.entries}, {"ways", shape.ways}}; }

nlohmann::json to_json(const sim::TlbConfig& tlb) {
  nlohmann::json json = {
      {"instruction", to_json(tlb.instruction)}, {"data", to_json(tlb.data)}, {"walk_latency", tlb.walk_latency}};
  if (tlb.second.entries == 0) return json;
  json["second"] = to_json(tlb.second);
  json["second"]["latency"] = tlb.second_latency;
  return json;
}

// The first level has nothing to include.
nlohmann::json to_json(const sim::LevelConfig& level, bool is_first) {
  nlohmann::json json = level.split
                            ? nlohmann::json{{"instruction", to_json(level.instruction)}, {"data", to_json(level.data)}}
                            : to_json(level.unified);
  json["name"] = level.name;
  json["shared_by"] = level.cores_per_cache;
  json["replacement"] = word(kReplacementWords, level.replacement);
  if (!is_first) json["inclusion"] = word(kInclusionWords, level.inclusion);
  json["write"] = word(kWriteWords, level.write_policy);
  json["write_miss"] = word(kWriteMissWords, level.write_miss);
  return json;
}

}  // namespace

nlohmann::json to_json(const sim::MachineConfig& machine) {
  nlohmann::json json;
  json["name"] = machine.name;
  json["description"] = machine.description;
  json["cores"] = machine.cores;
  json["line"] = machine.line_bytes;
  json["coherence"] = word(kCoherenceWords, machine.coherence);
  json["requests"] = word(kRequestsWords, machine.requests);
  json["levels"] = nlohmann::json::array();
  for (const sim::LevelConfig& level : machine.levels) json["levels"].push_back(to_json(level, &level == machine.levels.data()));
  json["page"] = machine.page_bytes;
  json["addresses"] = word(kAddressesWords, machine.addresses);
  if (machine.tlb) json["tlb"] = to_json(*machine.tlb);
  const sim::CoreConfig& core = machine.core;
  json["core"] = {{"cpi", core.cpi},
                  {"fetch_exposed", core.fetch_exposed},
                  {"read_exposed", core.read_exposed},
                  {"write_exposed", core.write_exposed}};
  json["memory"] = {{"latency", machine.memory_latency}, {"transfer_latency", machine.transfer_latency}};
  return json;
}

}  // namespace simrun::configs
