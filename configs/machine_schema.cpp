#include "configs/machine_schema.h"

#include <string>
#include <vector>

#include "configs/machine_words.h"

namespace simrun::configs {

namespace {

using Json = nlohmann::ordered_json;

Json text(const char* description) { return {{"type", "string"}, {"description", description}}; }

Json size(const char* description) {
  return {{"description", description},
          {"oneOf",
           {{{"type", "integer"}, {"minimum", 1}},
            {{"type", "string"}, {"pattern", "^[0-9]+(\\.[0-9]+)? *(B|KiB|MiB|GiB)?$"}}}}};
}

Json count(const char* description, uint64_t least, uint64_t most) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", most}, {"description", description}};
}

Json number(const char* description, double otherwise, double most) {
  return {{"type", "number"}, {"minimum", 0}, {"maximum", most}, {"default", otherwise}, {"description", description}};
}

Json choice(const char* description, const std::vector<std::string>& words) {
  return {{"enum", words}, {"default", words.front()}, {"description", description}};
}

Json object(Json properties, const std::vector<std::string>& required) {
  Json json = {{"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties)}};
  if (!required.empty()) json["required"] = required;
  return json;
}

constexpr uint64_t kMostCycles = UINT32_MAX;

Json prefetchers() {
  Json kind = choice("What it looks for", kPrefetchWords);
  kind.erase("default");
  Json one = object({{"kind", std::move(kind)},
                     {"degree", count("Lines asked for at a time; by default 1", 1, 64)},
                     {"distance", count("Of the first of them, in lines or strides; by default 1", 1, 64)}},
                    {"kind"});
  return {{"description", "Prefetchers of this cache"}, {"type", "array"}, {"items", std::move(one)}};
}

Json tlb_shape(bool has_latency) {
  Json properties = {{"entries", count("Pages", 1, UINT32_MAX)}, {"ways", count("Pages of a set", 1, 126)}};
  if (has_latency) properties["latency"] = count("Cycles more of a hit here", 0, kMostCycles);
  return object(std::move(properties), {"entries", "ways"});
}

Json tlb() {
  Json json = object({{"instruction", tlb_shape(false)},
                      {"data", tlb_shape(false)},
                      {"second", tlb_shape(true)},
                      {"walk_latency", count("Cycles more of a miss everywhere", 0, kMostCycles)}},
                     {"instruction", "data"});
  json["description"] = "TLBs of each core";
  return json;
}

Json shape_properties() {
  return {{"prefetch", prefetchers()},
          {"size", size("Bytes of one cache: 32KiB, 1.5MiB, 4096; a multiple of ways x line")},
          {"ways", count("Lines of a set", 1, 126)},
          {"latency", count("Cycles from the request of the core to its data on a hit here", 0, kMostCycles)}};
}

Json level() {
  Json properties = {{"name", text("For reports; the halves of a split level are reported with I and D added")},
                     {"shared_by",
                      {{"description", "private, chip, or the number of consecutive cores that share one cache"},
                       {"default", "private"},
                       {"oneOf", {{{"enum", {"private", "chip"}}}, {{"type", "integer"}, {"minimum", 1}}}}}}};
  const Json shape = shape_properties();
  for (const auto& [key, value] : shape.items()) properties[key] = value;
  properties["instruction"] = object(shape_properties(), {"size", "ways"});
  properties["data"] = object(shape_properties(), {"size", "ways"});
  properties["replacement"] = choice("Which line of a set goes", kReplacementWords);
  properties["inclusion"] = choice("With regard to the levels nearer the core", kInclusionWords);
  properties["write"] = choice("Where stores end that hit", kWriteWords);
  properties["write_miss"] = choice("Whether a store that misses fetches the line", kWriteMissWords);
  Json json = object(std::move(properties), {"name"});
  json["oneOf"] = {{{"required", {"size", "ways"}}}, {{"required", {"instruction", "data"}}}};
  return json;
}

Json core() {
  return object({{"cpi", number("Cycles per instruction when level 1 answers every access", 1, 1000)},
                 {"fetch_exposed", number("Share of a fetch's latency beyond level 1 that the core waits", 1, 1)},
                 {"read_exposed", number("The same of a read", 1, 1)},
                 {"write_exposed", number("The same of a write", 0, 1)}},
                {});
}

}  // namespace

Json machine_schema() {
  Json properties = {{"name", text("For reports; by default the file's name")},
                     {"description", text("For reports")},
                     {"cores", count("Number of cores", 1, 4096)},
                     {"line", size("Line size of all levels in bytes: a power of two from 8 to 4096; by default 64")},
                     {"coherence", choice("Protocol that keeps private caches coherent", kCoherenceWords)},
                     {"requests", choice("Who is asked about a line: its holders, or all", kRequestsWords)}};
  properties["levels"] = {
      {"description", "From the core toward memory"}, {"type", "array"}, {"minItems", 1}, {"items", level()}};
  properties["core"] = core();
  properties["page"] = size("Bytes of a page: a power of two; by default 4096");
  properties["addresses"] = choice("What the caches are indexed by", kAddressesWords);
  properties["tlb"] = tlb();
  properties["memory"] =
      object({{"latency", count("Cycles from the request of the core to data from memory", 0, kMostCycles)},
              {"transfer_latency", count("Cycles more when another cache hands the line over", 0, kMostCycles)}},
             {"latency"});
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "Machine for simrun"},
                 {"description", "configs/README.md documents the keys"}};
  schema.update(object(std::move(properties), {"cores", "levels"}));
  return schema;
}

}  // namespace simrun::configs
