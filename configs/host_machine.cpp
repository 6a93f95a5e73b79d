#include "configs/host_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
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

// How many processors "0-3,8-11" names.
uint32_t processors_in(const std::string& list) {
  uint32_t count = 0;
  for (size_t at = 0; at < list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    const std::string range = list.substr(at, comma - at);
    std::string rest;
    const uint64_t first = leading_number(range, &rest);
    count += rest.starts_with("-") ? static_cast<uint32_t>(leading_number(rest.substr(1)) - first + 1) : 1;
    at = comma + 1;
  }
  return count;
}

struct CacheFile {
  uint64_t level = 0;
  std::string type;  // "Data", "Instruction", "Unified"
  sim::CacheShape shape;
  uint64_t line = 0;
  uint32_t shared_by = 0;
};

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
      cache.shared_by == 0)
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
std::vector<fs::path> processors(const fs::path& directory) {
  std::map<uint64_t, fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::string rest;
    if (!name.starts_with("cpu") || name.size() < 4) continue;
    const uint64_t number = leading_number(name.substr(3), &rest);
    if (rest.empty() && fs::exists(entry->path() / "cache" / "index0")) found.emplace(number, entry->path());
  }
  std::vector<fs::path> paths;
  for (const auto& [number, path] : found) paths.push_back(path);
  return paths;
}

sim::LevelConfig level_of(const std::vector<CacheFile>& caches, uint64_t number) {
  sim::LevelConfig level;
  level.name = fmt::format("L{}", number);
  for (const CacheFile& cache : caches) {
    if (cache.level != number) continue;
    level.cores_per_cache = std::max(level.cores_per_cache, cache.shared_by);
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

sim::MachineConfig read_host_machine(const std::string& cpu_directory) {
  const std::vector<fs::path> cores = processors(cpu_directory);
  if (cores.empty())
    throw UserError(fmt::format("{}: the kernel describes no caches here (a virtual machine or a container may hide "
                                "them){}",
                                cpu_directory, kInstead),
                    2);
  const std::vector<CacheFile> caches = caches_of(cores[0]);
  sim::MachineConfig machine;
  machine.name = "host";
  machine.description = "this machine, as its kernel describes it: no latencies, policies by default";
  machine.cores = static_cast<uint32_t>(cores.size());
  uint64_t levels = 0;
  for (const CacheFile& cache : caches) {
    levels = std::max(levels, cache.level);
    machine.line_bytes = static_cast<uint32_t>(cache.line);
  }
  for (uint64_t number = 1; number <= levels; ++number) {
    sim::LevelConfig level = level_of(caches, number);
    // Processors off line, or hidden, leave a cache with fewer than it was built for.
    level.cores_per_cache = std::min(level.cores_per_cache, machine.cores);
    machine.levels.push_back(std::move(level));
  }
  if (const auto problem = sim::find_problem(machine))
    throw UserError(fmt::format("{}: this machine cannot be simulated as the kernel describes it: {}{}", cpu_directory,
                                problem->message, kInstead),
                    2);
  return machine;
}

}  // namespace simrun::configs
