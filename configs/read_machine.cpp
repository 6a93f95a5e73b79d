// From YAML to MachineConfig. The words of each choice stand in configs/machine_words.h, beside the writer's.
#include "configs/read_machine.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/user_error.h"
#include "configs/find_file.h"
#include "configs/host_machine.h"
#include "configs/machine_words.h"
#include "configs/strict_yaml.h"
#include "sim/build/validate_machine.h"

namespace simrun::configs {

namespace {

const std::vector<std::string> kMachineKeys = {"name",   "description", "cores", "line", "coherence", "requests",
                                               "levels", "core",        "page",  "tlb",  "addresses", "memory"};
const std::vector<std::string> kPrefetchKeys = {"kind", "degree", "distance"};
const std::vector<std::string> kTlbKeys = {"instruction", "data", "second", "walk_latency"};
const std::vector<std::string> kTlbShapeKeys = {"entries", "ways"};
const std::vector<std::string> kSecondTlbKeys = {"entries", "ways", "latency"};
const std::vector<std::string> kMemoryKeys = {"latency", "transfer_latency"};
const std::vector<std::string> kCoreKeys = {"cpi", "fetch_exposed", "read_exposed", "write_exposed"};
const std::vector<std::string> kShapeKeys = {"size", "ways", "latency", "prefetch"};
const std::vector<std::string> kLevelKeys = {"name", "shared_by", "size",        "ways",      "latency", "instruction",
                                             "data", "prefetch",  "replacement", "inclusion", "write",   "write_miss"};

std::vector<sim::PrefetchConfig> read_prefetchers(const StrictMap& map) {
  const YAML::Node list = map.required("prefetch");
  if (!list.IsSequence()) map.fail("prefetch", "'prefetch' must be a list of prefetchers, such as [{kind: stream}]");
  std::vector<sim::PrefetchConfig> prefetchers;
  for (const auto& entry : list) {
    const StrictMap prefetcher(map.file(), entry, "a prefetcher", kPrefetchKeys);
    sim::PrefetchConfig p;
    prefetcher.required("kind");
    p.kind = static_cast<sim::PrefetchKind>(prefetcher.choice("kind", kPrefetchWords));
    if (prefetcher.has("degree")) p.degree = prefetcher.count("degree");
    if (prefetcher.has("distance")) p.distance = prefetcher.count("distance");
    prefetchers.push_back(p);
  }
  return prefetchers;
}

sim::CacheShape read_shape(const StrictMap& map) {
  sim::CacheShape shape;
  shape.size_bytes = map.size("size");
  shape.ways = map.count("ways");
  if (map.has("latency")) shape.latency = map.count("latency");
  if (map.has("prefetch")) shape.prefetch = read_prefetchers(map);
  return shape;
}

sim::TlbShape read_tlb_shape(const StrictMap& map) { return {map.count("entries"), map.count("ways")}; }

sim::TlbConfig read_tlb(const StrictMap& map) {
  sim::TlbConfig tlb;
  tlb.instruction = read_tlb_shape({map.file(), map.required("instruction"), "tlb instruction", kTlbShapeKeys});
  tlb.data = read_tlb_shape({map.file(), map.required("data"), "tlb data", kTlbShapeKeys});
  if (map.has("second")) {
    const StrictMap second(map.file(), map.required("second"), "tlb second", kSecondTlbKeys);
    tlb.second = read_tlb_shape(second);
    if (second.has("latency")) tlb.second_latency = second.count("latency");
  }
  if (map.has("walk_latency")) tlb.walk_latency = map.count("walk_latency");
  return tlb;
}

uint32_t read_shared_by(const StrictMap& map, uint32_t cores) {
  if (!map.has("shared_by")) return 1;
  const std::string value = map.text("shared_by");
  if (value == "private") return 1;
  if (value == "chip") return cores;
  if (value.empty() || value[0] < '0' || value[0] > '9')
    map.fail("shared_by", fmt::format("'shared_by' must be private, chip or a number of cores, not '{}'", value));
  return map.to_count("shared_by", value);
}

void read_arrays(const StrictMap& map, sim::LevelConfig& level) {
  level.split = map.has("instruction") || map.has("data");
  if (!level.split) {
    level.unified = read_shape(map);
    return;
  }
  for (const std::string& key : kShapeKeys)
    if (map.has(key))
      map.fail(key, fmt::format("'{}' belongs into 'instruction' and 'data', as {} is split", key, level.name));
  level.instruction = read_shape({map.file(), map.required("instruction"), level.name + " instruction", kShapeKeys});
  level.data = read_shape({map.file(), map.required("data"), level.name + " data", kShapeKeys});
}

std::function<void(const std::string&)>& warning_writer() {
  static std::function<void(const std::string&)> writer = [](const std::string&) {};
  return writer;
}

sim::LevelConfig read_level(const std::string& file, const YAML::Node& node, size_t index, uint32_t cores) {
  const StrictMap map(file, node, fmt::format("level {}", index + 1), kLevelKeys);
  sim::LevelConfig level;
  level.name = map.text("name");
  level.cores_per_cache = read_shared_by(map, cores);
  read_arrays(map, level);
  level.replacement = static_cast<sim::Replacement>(map.choice("replacement", kReplacementWords));
  level.inclusion = static_cast<sim::Inclusion>(map.choice("inclusion", kInclusionWords));
  if (index == 0 && map.has("inclusion") && level.inclusion == sim::Inclusion::kInclusive)  // another one is refused
    warning_writer()(fmt::format("{}: {} is the level nearest the core: 'inclusion' means nothing there", file, level.name));
  level.write_policy = static_cast<sim::WritePolicy>(map.choice("write", kWriteWords));
  level.write_miss = static_cast<sim::WriteMiss>(map.choice("write_miss", kWriteMissWords));
  return level;
}

sim::CoreConfig read_core(const StrictMap& map) {
  sim::CoreConfig core;
  if (map.has("cpi")) core.cpi = map.number("cpi");
  if (map.has("fetch_exposed")) core.fetch_exposed = map.number("fetch_exposed");
  if (map.has("read_exposed")) core.read_exposed = map.number("read_exposed");
  if (map.has("write_exposed")) core.write_exposed = map.number("write_exposed");
  return core;
}

// The node that a problem of the model's rules is about, or the nearest one around it.
YAML::Mark locate(const YAML::Node& root, const sim::MachineProblem& problem) {
  YAML::Node node = root;
  if (problem.level < 0 && !problem.part.empty() && root[problem.part]) node.reset(root[problem.part]);
  if (problem.level >= 0) node.reset(root["levels"][static_cast<size_t>(problem.level)]);
  if (problem.level >= 0 && !problem.part.empty() && node[problem.part]) node.reset(node[problem.part]);
  if (node[problem.key]) node.reset(node[problem.key]);
  return node.Mark();
}

sim::MachineConfig read_this_machine() {
  std::string warning;
  sim::MachineConfig machine = read_host_machine(kCpuDirectory, &warning);
  if (!warning.empty()) warning_writer()("host: " + warning);
  return machine;
}

sim::MachineConfig build_machine(const YAML::Node& root, const std::string& file) {
  if (!root || root.IsNull())
    throw UserError(file + ": the file is empty; configs/README.md says what a machine needs", 2);
  const StrictMap map(file, root, "the machine", kMachineKeys);
  sim::MachineConfig machine;
  const std::string stem = std::filesystem::path(file).stem().string();
  machine.name = map.has("name") ? map.text("name") : is_valid_utf8(stem) ? stem : "machine";
  if (map.has("description")) machine.description = map.text("description");
  machine.cores = map.count("cores");
  if (map.has("line")) {
    const uint64_t line = map.size("line");
    if (line > UINT32_MAX) map.fail("line", fmt::format("a line of {} bytes is too long", line));
    machine.line_bytes = static_cast<uint32_t>(line);
  }
  machine.coherence = static_cast<sim::Coherence>(map.choice("coherence", kCoherenceWords));
  machine.requests = static_cast<sim::Requests>(map.choice("requests", kRequestsWords));
  if (map.has("page")) machine.page_bytes = map.size("page");
  machine.addresses = static_cast<sim::Addresses>(map.choice("addresses", kAddressesWords));
  if (map.has("tlb")) machine.tlb = read_tlb({file, map.required("tlb"), "tlb", kTlbKeys});
  const YAML::Node levels = map.required("levels");
  if (!levels.IsSequence()) map.fail("levels", "'levels' must be a list of levels, from the core toward memory");
  for (size_t i = 0; i < levels.size(); ++i) machine.levels.push_back(read_level(file, levels[i], i, machine.cores));
  if (map.has("core")) machine.core = read_core({file, map.required("core"), "core", kCoreKeys});
  if (map.has("memory")) {
    const StrictMap memory(file, map.required("memory"), "memory", kMemoryKeys);
    machine.memory_latency = memory.count("latency");
    if (memory.has("transfer_latency")) machine.transfer_latency = memory.count("transfer_latency");
  }
  if (const auto problem = sim::find_problem(machine)) fail_at(file, locate(root, *problem), problem->message);
  return machine;
}

}  // namespace

void set_warning_writer(std::function<void(const std::string&)> writer) { warning_writer() = std::move(writer); }

sim::MachineConfig parse_machine(const std::string& text, const std::string& file) {
  return read_document<sim::MachineConfig>(text, file, "a machine", [&](const YAML::Node& root) { return build_machine(root, file); });
}

sim::MachineConfig read_machine(const std::string& path_or_bare_name) {
  if (path_or_bare_name == "host") return read_this_machine();
  const std::string path = find_machine(path_or_bare_name);
  return parse_machine(text_of_file(path), path);
}

}  // namespace simrun::configs
