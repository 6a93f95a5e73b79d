#include "configs/sweep_machines.h"

#include <fmt/format.h>

#include <charconv>

#include "base/user_error.h"
#include "configs/read_machine.h"

namespace simrun::configs {

namespace {

using Json = nlohmann::json;
constexpr size_t kMostMachines = 1024;

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
  if (sweep.key == "cores" || sweep.key == "line")
    throw UserError(
        fmt::format("--sweep '{}': machines of one sweep have the same cores and the same line size, as the "
                    "order of references depends on them; run simrun for each",
                    text),
        2);
  return sweep;
}

Json value_of(const std::string& word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) return word;
  return Json::parse(word, nullptr, false).is_number() ? Json::parse(word) : Json(word);
}

// Where `key` of the machine is; what does not exist yet is made by the caller's assignment, and judged by the reader.
Json& place_of(Json& machine, const std::string& key, const std::string& sweep) {
  std::vector<std::string> parts = split(key, '.');
  Json* at = &machine;
  std::string names;
  for (Json& level : machine["levels"]) {
    const std::string name = level["name"].get<std::string>();
    names += (names.empty() ? "" : ", ") + name;
    if (name == parts[0]) at = &level;
  }
  if (at != &machine) parts.erase(parts.begin());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty() || (i + 1 < parts.size() && (!at->contains(parts[i]) || !(*at)[parts[i]].is_object())))
      throw UserError(
          fmt::format("--sweep '{}': the machine has no key '{}' (levels: {}; configs/README.md has the keys)", sweep,
                      key, names),
          2);
    at = &(*at)[parts[i]];
  }
  return *at;
}

}  // namespace

std::vector<SweptMachine> sweep_machines(const std::string& path_or_bare_name, const std::vector<std::string>& sweeps) {
  const sim::MachineConfig base = read_machine(path_or_bare_name);
  std::vector<std::pair<SweptMachine, Json>> all{{{{}, base}, to_json(base)}};
  for (const std::string& text : sweeps) {
    const Sweep sweep = parse(text);
    std::vector<std::pair<SweptMachine, Json>> more;
    for (const auto& [swept, json] : all)
      for (const std::string& value : sweep.values) {
        more.emplace_back(swept, json);
        more.back().first.settings.emplace_back(sweep.key, value);
        place_of(more.back().second, sweep.key, text) = value_of(value);
      }
    if (more.size() > kMostMachines)
      throw UserError(fmt::format("--sweep: {} machines; at most {} are possible", more.size(), kMostMachines), 2);
    all = std::move(more);
  }
  std::vector<SweptMachine> machines;
  for (auto& [swept, json] : all) {
    std::string with;
    for (const auto& [key, value] : swept.settings)
      with += fmt::format("{}{}={}", with.empty() ? "" : ", ", key, value);
    swept.machine = parse_machine(json.dump(2), fmt::format("{} with {}", path_or_bare_name, with));
    machines.push_back(std::move(swept));
  }
  return machines;
}

}  // namespace simrun::configs
