#include "configs/host_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <vector>

#include "base/user_error.h"
#include "sim/build/validate_machine.h"

namespace simrun::configs {

namespace {

namespace fs = std::filesystem;

constexpr const char* kInstead = "; give --config the name of a machine file instead";

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// A number at the start of `text`, 0 when there is none.
uint64_t leading_number(const std::string& text, std::string* rest = nullptr) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (rest != nullptr) *rest = std::string(end, text.data() + text.size());
  return error == std::errc{} ? value : 0;
}

// "48K", as the kernel writes sizes.
uint64_t size_of(const std::string& text) {
  std::string unit;
  const uint64_t number = leading_number(text, &unit);
  return number << (unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0);
}

// The processors that "0-3,8-11" names.
std::vector<uint64_t> processors_in(const std::string& list) {
  std::vector<uint64_t> numbers;
  for (size_t at = 0; at < list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    const std::string range = list.substr(at, comma - at);
    std::string rest;
    const uint64_t first = leading_number(range, &rest);
    const uint64_t last = rest.starts_with("-") ? leading_number(rest.substr(1)) : first;
    for (uint64_t number = first; number <= last; ++number) numbers.push_back(number);
    at = comma + 1;
  }
  return numbers;
}

// The other way round.
std::string list_of(const std::vector<uint64_t>& numbers) {
  std::string list;
  for (size_t first = 0, next = 0; first < numbers.size(); first = next) {
    for (next = first + 1; next < numbers.size() && numbers[next] == numbers[next - 1] + 1;) ++next;
    list += fmt::format("{}{}", first == 0 ? "" : ",", numbers[first]);
    if (next - first > 1) list += fmt::format("-{}", numbers[next - 1]);
  }
  return list;
}

struct CacheFile {
  uint64_t level = 0;
  std::string type;  // "Data", "Instruction", "Unified"
  sim::CacheShape shape;
  uint64_t line = 0;
  std::vector<uint64_t> shared_by;  // processors
};

struct Processor {
  std::vector<CacheFile> caches;
  uint64_t core = 0;  // the first processor of those that share its level 1
};
using Processors = std::map<uint64_t, Processor>;  // by number

CacheFile read_cache(const fs::path& directory) {
  const auto number = [&](const char* name) { return leading_number(first_line(directory / name)); };
  CacheFile cache;
  cache.level = number("level");
  cache.type = first_line(directory / "type");
  cache.line = number("coherency_line_size");
  cache.shape.size_bytes = size_of(first_line(directory / "size"));
  cache.shape.ways = static_cast<uint32_t>(number("ways_of_associativity"));
  cache.shared_by = processors_in(first_line(directory / "shared_cpu_list"));
  const uint64_t sets = number("number_of_sets");
  if (cache.shape.ways == 0 && sets != 0 && cache.line != 0)
    cache.shape.ways = static_cast<uint32_t>(cache.shape.size_bytes / (sets * cache.line));
  if (cache.level == 0 || cache.line == 0 || cache.shape.size_bytes == 0 || cache.shape.ways == 0 ||
      cache.shared_by.empty())
    throw UserError(
        fmt::format("{}: this machine's kernel does not say the size, ways, line and sharing of this cache{}",
                    directory.string(), kInstead),
        2);
  return cache;
}

std::vector<CacheFile> caches_of(const fs::path& processor) {
  std::vector<CacheFile> caches;
  for (int i = 0; fs::exists(processor / "cache" / fmt::format("index{}", i)); ++i)
    caches.push_back(read_cache(processor / "cache" / fmt::format("index{}", i)));
  return caches;
}

// cpu0, cpu1, ... that are on line (those off line have no cache directory).
Processors read_processors(const fs::path& directory) {
  Processors processors;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::string rest;
    if (!name.starts_with("cpu") || name.size() < 4) continue;
    const uint64_t number = leading_number(name.substr(3), &rest);
    if (rest.empty() && fs::exists(entry->path() / "cache" / "index0"))
      processors.emplace(number, Processor{caches_of(entry->path()), number});
  }
  for (auto& [number, processor] : processors)
    for (const CacheFile& cache : processor.caches)
      for (const uint64_t other : cache.shared_by)
        if (cache.level == 1 && processors.contains(other)) processor.core = std::min(processor.core, other);
  return processors;
}

// Processors off line, or hidden, leave a cache with fewer than it was built for.
uint32_t cores_that_share(const CacheFile& cache, const Processors& processors) {
  std::set<uint64_t> cores;
  for (const uint64_t number : cache.shared_by)
    if (const auto found = processors.find(number); found != processors.end()) cores.insert(found->second.core);
  return static_cast<uint32_t>(cores.size());
}

bool are_alike(const Processor& a, const Processor& b, const Processors& all) {
  return std::equal(a.caches.begin(), a.caches.end(), b.caches.begin(), b.caches.end(),
                    [&](const CacheFile& x, const CacheFile& y) {
                      return x.level == y.level && x.type == y.type && x.shape == y.shape &&
                             cores_that_share(x, all) == cores_that_share(y, all);
                    });
}

// What is not so on this machine. Empty: its cores are alike.
std::string unlike_cores(const Processors& processors) {
  const auto& [first, kind] = *processors.begin();
  std::vector<uint64_t> others;
  for (const auto& [number, processor] : processors)
    if (!are_alike(kind, processor, processors)) others.push_back(number);
  if (others.empty()) return "";
  return fmt::format("processors {} have other caches than processor {}: all cores have those of {}", list_of(others),
                     first, first);
}

sim::LevelConfig level_of(const std::vector<CacheFile>& caches, uint64_t number, const Processors& processors) {
  sim::LevelConfig level;
  level.name = fmt::format("L{}", number);
  for (const CacheFile& cache : caches) {
    if (cache.level != number) continue;
    level.cores_per_cache = std::max(level.cores_per_cache, cores_that_share(cache, processors));
    if (cache.type == "Unified")
      level.unified = cache.shape;
    else
      (cache.type == "Instruction" ? level.instruction : level.data) = cache.shape;
  }
  level.split = level.instruction.size_bytes != 0 && level.data.size_bytes != 0;
  if (!level.split && level.unified.size_bytes == 0)
    level.unified = level.data.size_bytes != 0 ? level.data : level.instruction;
  return level;
}

}  // namespace

sim::MachineConfig read_host_machine(const std::string& cpu_directory, std::string* warning) {
  const Processors processors = read_processors(cpu_directory);
  if (processors.empty())
    throw UserError(fmt::format("{}: the kernel describes no caches here (a virtual machine or a container may hide "
                                "them){}",
                                cpu_directory, kInstead),
                    2);
  const std::vector<CacheFile>& caches = processors.begin()->second.caches;
  sim::MachineConfig machine;
  machine.name = "host";
  machine.description = "this machine, as its kernel describes it: no latencies, policies by default";
  machine.cores = static_cast<uint32_t>(
      std::count_if(processors.begin(), processors.end(), [](const auto& p) { return p.second.core == p.first; }));
  if (machine.cores != processors.size())
    machine.description += fmt::format("; {} processors, those that share a level 1 are one core", processors.size());
  if (const std::string unlike = unlike_cores(processors); !unlike.empty()) {
    machine.description += "; " + unlike;
    if (warning != nullptr) *warning = unlike;
  }
  uint64_t levels = 0;
  for (const CacheFile& cache : caches) {
    levels = std::max(levels, cache.level);
    machine.line_bytes = static_cast<uint32_t>(cache.line);
  }
  for (uint64_t number = 1; number <= levels; ++number) machine.levels.push_back(level_of(caches, number, processors));
  if (const auto problem = sim::find_problem(machine))
    throw UserError(fmt::format("{}: this machine cannot be simulated as the kernel describes it: {}{}", cpu_directory,
                                problem->message, kInstead),
                    2);
  return machine;
}

}  // namespace simrun::configs
