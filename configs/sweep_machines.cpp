#include "configs/sweep_machines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/user_error.h"
#include "configs/read_machine.h"

namespace simrun::configs {

namespace {

constexpr size_t kMostMachines = 1024;
constexpr const char* kConfig = "config";

struct Sweep {
  std::string key;
  std::vector<std::string> values;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

Sweep parse(const std::string& text) {
  const size_t equals = text.find('=');
  Sweep sweep{text.substr(0, equals), {}};
  if (equals != std::string::npos) sweep.values = split(text.substr(equals + 1), ',');
  bool complete = !sweep.key.empty() && !sweep.values.empty();
  for (const std::string& value : sweep.values) complete &= !value.empty();
  if (!complete)
    throw UserError(fmt::format("--sweep '{}': it must be KEY=VALUE,VALUE,... such as L2.size=256KiB,512KiB", text), 2);
  if (sweep.key == kConfig) throw UserError(fmt::format("--sweep '{}': give --config for each machine instead", text), 2);
  if (sweep.key == "cores" || sweep.key == "line")
    throw UserError(
        fmt::format("--sweep '{}': machines of one sweep have the same cores and the same line size, as the "
                    "order of references depends on them; run simrun for each",
                    text),
        2);
  for (auto value = sweep.values.begin(); value != sweep.values.end(); ++value)
    if (std::find(sweep.values.begin(), value, *value) != value) throw UserError(fmt::format("--sweep '{}': {} is given twice", text, *value), 2);
  return sweep;
}

nlohmann::json value_of(const std::string& word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) return word;
  return nlohmann::json::parse(word, nullptr, false).is_number() ? nlohmann::json::parse(word) : nlohmann::json(word);
}

// Where `key` of the machine is; what does not exist yet is made by the caller's assignment, and judged by the reader.
nlohmann::json& place_of(nlohmann::json& machine, const std::string& config, const std::string& key, const std::string& sweep) {
  std::vector<std::string> parts = split(key, '.');
  const bool is_optional = parts[0] == "tlb";
  nlohmann::json* at = &machine;
  std::string names;
  for (nlohmann::json& level : machine["levels"]) {
    const std::string name = level["name"].get<std::string>();
    names += (names.empty() ? "" : ", ") + name;
    if (name == parts[0]) at = &level;
  }
  if (at != &machine) parts.erase(parts.begin());
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool is_there = at->contains(parts[i]);
    if (is_optional && !is_there && i + 1 < parts.size())
      throw UserError(fmt::format("--sweep '{}': {} has no '{}'; a sweep changes what there is, so write one into a machine "
                                  "file first",
                                  sweep, config, fmt::join(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(i) + 1, ".")),
                      2);
    if (parts[i].empty() || (i + 1 < parts.size() && (!is_there || !(*at)[parts[i]].is_object())))
      throw UserError(
          fmt::format("--sweep '{}': {} has no key '{}' (levels: {}; configs/README.md has the keys)", sweep, config,
                      key, names),
          2);
    at = &(*at)[parts[i]];
  }
  return *at;
}

// Before there is a machine, whose reader would ask for a list that cannot be given here.
void refuse_structure(const Sweep& sweep, const std::string& value, const nlohmann::json& place, const std::string& text) {
  if (!place.is_structured() && !sweep.key.ends_with("prefetch") && value[0] != '[' && value[0] != '{') return;
  throw UserError(fmt::format("--sweep '{}': only keys with a single value can be swept; for lists and mappings (prefetch, tlb) write a "
                              "machine file for each",
                              text),
                  2);
}

void refuse_again(const Sweep& sweep, const SweptMachine& machine, const std::string& text) {
  for (const auto& [key, value] : machine.settings)
    if (key == sweep.key)
      throw UserError(fmt::format("--sweep '{}': {} is swept already; give all its values at once", text, key), 2);
}

void refuse_too_many(size_t machines) {
  if (machines > kMostMachines) throw UserError(fmt::format("{} machines; at most {} are possible in one run", machines, kMostMachines), 2);
}

// `name`:line:column: of a text that only we have seen.
std::string without_place(const std::string& message, const std::string& name) {
  return name + message.substr(message.find(": ", name.size()));
}

sim::MachineConfig changed_machine(const nlohmann::json& json, const std::string& name) {
  try {
    return parse_machine(json.dump(), name);
  } catch (const UserError& error) {
    throw UserError(without_place(error.what(), name), 2);
  }
}

// All machines of `config`, with what `from` has as settings.
std::vector<SweptMachine> sweep_one(const std::string& config, const SweptMachine& from, const std::vector<std::string>& sweeps) {
  std::vector<std::pair<SweptMachine, nlohmann::json>> all{{from, configs::to_json(from.machine)}};
  for (const std::string& text : sweeps) {
    const Sweep sweep = parse(text);
    refuse_again(sweep, all.front().first, text);
    std::vector<std::pair<SweptMachine, nlohmann::json>> more;
    for (const auto& [swept, json] : all)
      for (const std::string& value : sweep.values) {
        more.emplace_back(swept, json);
        more.back().first.settings.emplace_back(sweep.key, value);
        nlohmann::json& place = place_of(more.back().second, config, sweep.key, text);
        refuse_structure(sweep, value, place, text);
        place = value_of(value);
      }
    refuse_too_many(more.size());
    all = std::move(more);
  }
  std::vector<SweptMachine> machines;
  for (auto& [swept, json] : all) {
    std::string with;
    for (const auto& [key, value] : swept.settings)
      if (key != kConfig) with += fmt::format("{}{}={}", with.empty() ? "" : ", ", key, value);
    if (!with.empty()) swept.machine = changed_machine(json, fmt::format("{} with {}", config, with));
    machines.push_back(std::move(swept));
  }
  return machines;
}

// The order of references depends on the two.
void refuse_another_shape(const std::string& config, const sim::MachineConfig& machine, const std::string& first, const sim::MachineConfig& expected) {
  if (machine.cores == expected.cores && machine.line_bytes == expected.line_bytes) return;
  throw UserError(fmt::format("--config '{}' has {} cores and lines of {} bytes, '{}' {} and {}: machines of one run have the same of both, as the order of "
                              "references depends on them; run simrun for each",
                              config, machine.cores, machine.line_bytes, first, expected.cores, expected.line_bytes),
                  2);
}

}  // namespace

std::vector<SweptMachine> sweep_machines(const std::vector<std::string>& configs, const std::vector<std::string>& sweeps) {
  std::vector<SweptMachine> machines;
  for (size_t i = 0; i < configs.size(); ++i) {
    if (std::find(configs.begin(), configs.begin() + static_cast<ptrdiff_t>(i), configs[i]) != configs.begin() + static_cast<ptrdiff_t>(i))
      throw UserError(fmt::format("--config '{}' is given twice", configs[i]), 2);
    SweptMachine from{{}, read_machine(configs[i])};
    if (configs.size() > 1) from.settings.emplace_back(kConfig, configs[i]);
    if (!machines.empty()) refuse_another_shape(configs[i], from.machine, configs[0], machines[0].machine);
    std::ranges::move(sweep_one(configs[i], from, sweeps), std::back_inserter(machines));
    refuse_too_many(machines.size());
  }
  return machines;
}

}  // namespace simrun::configs
