// The rules of geometry, in the order in which a reader of the file meets the keys.
#include "sim/build/validate_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <string_view>

#include "sim/replacement/lru_ages.h"
#include "sim/vocabulary.h"

namespace simrun::sim {

namespace {

constexpr uint32_t kMinLineBytes = 8, kMaxLineBytes = 4096;
constexpr uint64_t kMaxLines = uint64_t{1} << 28;  // per cache: about 8 GiB of host memory

struct Part {
  const char* name;
  const CacheShape* shape;
};

std::vector<Part> parts_of(const LevelConfig& level) {
  if (!level.split) return {{"", &level.unified}};
  return {{"instruction", &level.instruction}, {"data", &level.data}};
}

std::string part_name(const LevelConfig& level, const Part& part) {
  return *part.name == 0 ? level.name : fmt::format("{} {}", level.name, part.name);
}

std::optional<MachineProblem> find_shape_problem(const MachineConfig& m, int index, const Part& part) {
  const CacheShape& shape = *part.shape;
  const std::string what = part_name(m.levels[index], part);
  const auto problem = [&](const char* key, std::string message) {
    return MachineProblem{index, part.name, key, message};
  };
  if (shape.ways == 0 || shape.ways > kMaxWays)
    return problem("ways", fmt::format("{} has {} ways; 1 to {} are possible", what, shape.ways, kMaxWays));
  const uint64_t row = uint64_t{m.line_bytes} * shape.ways;
  if (shape.size_bytes == 0) return problem("size", fmt::format("{} has size 0", what));
  if (shape.size_bytes < row)
    return problem("size", fmt::format("{} of {} bytes cannot hold one set: {} ways x {}-byte lines = {} bytes", what,
                                       shape.size_bytes, shape.ways, m.line_bytes, row));
  if (shape.size_bytes % row != 0)
    return problem("size",
                   fmt::format("{} of {} bytes cannot be {} ways of {}-byte lines: it is no multiple of {} x {} = {}; "
                               "the nearest sizes are {} and {} bytes",
                               what, shape.size_bytes, shape.ways, m.line_bytes, shape.ways, m.line_bytes, row,
                               shape.size_bytes / row * row, (shape.size_bytes / row + 1) * row));
  if (shape.size_bytes / m.line_bytes > kMaxLines)
    return problem(
        "size", fmt::format("{} of {} has {} lines of {} bytes; the simulator takes at most {}", what,
                            format_size(shape.size_bytes), shape.size_bytes / m.line_bytes, m.line_bytes, kMaxLines));
  return std::nullopt;
}

std::optional<MachineProblem> find_prefetch_problem(const MachineConfig& m, int index, const Part& part) {
  constexpr uint32_t kMost = 64;
  const std::string what = part_name(m.levels[index], part);
  const auto problem = [&](std::string message) {
    return MachineProblem{index, part.name, "prefetch", std::move(message)};
  };
  if (!part.shape->prefetch.empty() && index > 0 && m.levels[index].inclusion == Inclusion::kExclusive)
    return problem(
        fmt::format("{} is exclusive: it is filled only by what leaves the level above; prefetch there", what));
  for (const PrefetchConfig& p : part.shape->prefetch) {
    if (p.degree == 0 || p.degree > kMost)
      return problem(fmt::format("a prefetcher of {} has degree {}; 1 to {} are possible", what, p.degree, kMost));
    if (p.distance == 0 || p.distance > kMost)
      return problem(fmt::format("a prefetcher of {} has distance {}; 1 to {} are possible", what, p.distance, kMost));
  }
  return std::nullopt;
}

// What `part` of the inclusive level includes of the levels above, down one half of those that are split: each cache up
// to the first inclusive one, which includes the rest; an exclusive one has no line of those above it, so both must fit.
std::optional<MachineProblem> find_inclusion_problem(const MachineConfig& m, int index, const Part& part, std::string_view half) {
  std::string beside;
  uint64_t beside_bytes = 0;
  for (int i = index - 1; i >= 0; --i) {
    const LevelConfig& level = m.levels[i];
    const Part above = half == "data" ? parts_of(level).back() : parts_of(level).front();
    const std::string what = fmt::format("one {} of {}", part_name(level, above), format_size(above.shape->size_bytes));
    if (part.shape->size_bytes < beside_bytes + above.shape->size_bytes)
      return MachineProblem{index, part.name, "size",
                            fmt::format("{} of {} is inclusive but smaller than {}{}, which it must include",
                                        part_name(m.levels[index], part), format_size(part.shape->size_bytes), beside, what)};
    if (level.inclusion == Inclusion::kInclusive) return std::nullopt;
    if (level.inclusion == Inclusion::kNonInclusive) continue;
    beside += what + " and ";
    beside_bytes += above.shape->size_bytes;
  }
  return std::nullopt;
}

// An inclusive cache smaller than those that it includes would keep them from ever being full.
std::optional<MachineProblem> find_inclusion_problem(const MachineConfig& m, int index) {
  if (m.levels[index].inclusion != Inclusion::kInclusive) return std::nullopt;
  for (const Part& part : parts_of(m.levels[index]))
    for (const char* half : {"instruction", "data"})
      if (!m.levels[index].split || std::string_view(part.name) == half)
        if (auto problem = find_inclusion_problem(m, index, part, half)) return problem;
  return std::nullopt;
}

std::optional<MachineProblem> find_sharing_problem(const MachineConfig& m, int index) {
  const LevelConfig& level = m.levels[index];
  const uint32_t span = level.cores_per_cache;
  const auto problem = [&](std::string message) { return MachineProblem{index, "", "shared_by", std::move(message)}; };
  if (span == 0 || span > m.cores)
    return problem(fmt::format("{} is shared by {} cores, but the machine has {}", level.name, span, m.cores));
  if (m.cores % span != 0)
    return problem(
        fmt::format("{} is shared by {} cores, which does not divide the machine's {}", level.name, span, m.cores));
  if (index == 0) return std::nullopt;
  const LevelConfig& above = m.levels[index - 1];
  if (span % above.cores_per_cache != 0)
    return problem(
        fmt::format("{} is shared by {} cores, which is no multiple of the {} that share an {}: one {} would have "
                    "to be behind two {}s",
                    level.name, span, above.cores_per_cache, above.name, above.name, level.name));
  return std::nullopt;
}

// Combinations that the model does not define (docs/cache-model.md).
std::optional<MachineProblem> find_policy_problem(const MachineConfig& m, int index) {
  const LevelConfig& level = m.levels[index];
  const auto problem = [&](const char* key, std::string message) {
    return MachineProblem{index, "", key, std::move(message)};
  };
  if (index == 0) {
    if (level.inclusion == Inclusion::kInclusive) return std::nullopt;
    return problem("inclusion", fmt::format("{} is the level nearest the core: there is nothing that it could include "
                                            "or exclude; leave 'inclusion' out",
                                            level.name));
  }
  const LevelConfig& above = m.levels[index - 1];
  if (level.write_policy == WritePolicy::kWriteThrough && above.write_policy != WritePolicy::kWriteThrough)
    return problem("write",
                   fmt::format("{} is write-through, but {} above it is write-back: a write-through level needs "
                               "write-through levels between it and the core",
                               level.name, above.name));
  const bool passes_writes =
      above.write_policy == WritePolicy::kWriteThrough || above.write_miss != WriteMiss::kAllocate;
  if (passes_writes && level.inclusion != Inclusion::kInclusive)
    return problem(
        "inclusion",
        fmt::format("{} must be inclusive, as {} above it passes writes on ({})", level.name, above.name,
                    above.write_miss != WriteMiss::kAllocate ? "write_miss: no-allocate" : "write: write-through"));
  return std::nullopt;
}

// As results have them: those of a split level end in I and D.
std::vector<std::string> reported_names(const LevelConfig& level) {
  if (!level.split) return {level.name};
  return {level.name + "I", level.name + "D"};
}

// Names are keys of results, parts of paths there, and of a sweep's keys.
std::optional<MachineProblem> find_name_problem(const MachineConfig& m, int index) {
  const std::string& name = m.levels[index].name;
  const auto problem = [&](std::string message) { return MachineProblem{index, "", "name", std::move(message)}; };
  if (name.empty()) return problem("a level needs a name");
  const auto is_allowed = [](unsigned char c) { return (c < 0x80 && std::isalnum(c) != 0) || c == '_' || c == '-' || c == '+'; };
  if (!std::all_of(name.begin(), name.end(), is_allowed))
    return problem(fmt::format("a level's name has letters, digits, '_', '-' and '+', unlike '{}'", name));
  for (const std::string& reported : reported_names(m.levels[index])) {
    if (reported == "memory") return problem("a level cannot be named memory, which is what is behind the last");
    for (int other = 0; other < index; ++other)
      for (const std::string& taken : reported_names(m.levels[other]))
        if (reported == taken || m.levels[other].name == name)
          return problem(fmt::format("two levels are named {}", reported == taken ? reported : name));
  }
  return std::nullopt;
}

std::optional<MachineProblem> find_level_problem(const MachineConfig& m, int index) {
  const LevelConfig& level = m.levels[index];
  if (auto problem = find_name_problem(m, index)) return problem;
  if (auto problem = find_sharing_problem(m, index)) return problem;
  if (level.split && index > 0 && !m.levels[index - 1].split)
    return MachineProblem{
        index, "", "instruction",
        fmt::format("{} is split below the unified {}: instructions and data can no longer be told apart there",
                    level.name, m.levels[index - 1].name)};
  for (const Part& part : parts_of(level)) {
    if (auto problem = find_shape_problem(m, index, part)) return problem;
    if (auto problem = find_prefetch_problem(m, index, part)) return problem;
  }
  if (auto problem = find_policy_problem(m, index)) return problem;
  return find_inclusion_problem(m, index);
}

std::optional<MachineProblem> find_page_problem(const MachineConfig& m) {
  constexpr uint64_t kMostPage = uint64_t{1} << 40;
  if (!std::has_single_bit(m.page_bytes) || m.page_bytes < m.line_bytes || m.page_bytes > kMostPage)
    return MachineProblem{-1, "", "page",
                          fmt::format("a page of {} bytes; a power of two from the line's {} bytes on is possible",
                                      m.page_bytes, m.line_bytes)};
  if (!m.tlb) return std::nullopt;
  const auto problem = [](const char* part, const TlbShape& shape) -> std::optional<MachineProblem> {
    if (shape.ways == 0 || shape.ways > kMaxWays)
      return MachineProblem{-1, "tlb", part,
                            fmt::format("the {} TLB has {} ways; 1 to {} are possible", part, shape.ways, kMaxWays)};
    if (shape.entries == 0 || shape.entries % shape.ways != 0)
      return MachineProblem{-1, "tlb", part,
                            fmt::format("the {} TLB has {} entries, which is no multiple of its {} ways", part,
                                        shape.entries, shape.ways)};
    return std::nullopt;
  };
  if (auto p = problem("instruction", m.tlb->instruction)) return p;
  if (auto p = problem("data", m.tlb->data)) return p;
  return m.tlb->second.entries == 0 && m.tlb->second.ways == 0 ? std::nullopt : problem("second", m.tlb->second);
}

std::optional<MachineProblem> find_core_problem(const MachineConfig& m) {
  const auto problem = [](const char* key, double value, double most) -> std::optional<MachineProblem> {
    if (value >= 0 && value <= most) return std::nullopt;
    return MachineProblem{-1, "core", key,
                          fmt::format("'{}' of core is {:g}; 0 to {:g} are possible", key, value, most)};
  };
  constexpr double kMostCpi = 1000;
  if (auto p = problem("cpi", m.core.cpi, kMostCpi)) return p;
  if (auto p = problem("fetch_exposed", m.core.fetch_exposed, 1)) return p;
  if (auto p = problem("read_exposed", m.core.read_exposed, 1)) return p;
  return problem("write_exposed", m.core.write_exposed, 1);
}

}  // namespace

std::optional<MachineProblem> find_problem(const MachineConfig& m) {
  if (m.cores == 0 || m.cores > kMaxCores)
    return MachineProblem{-1, "", "cores", fmt::format("{} cores; 1 to {} are possible", m.cores, kMaxCores)};
  if (!std::has_single_bit(m.line_bytes) || m.line_bytes < kMinLineBytes || m.line_bytes > kMaxLineBytes)
    return MachineProblem{-1, "", "line",
                          fmt::format("a line of {} bytes; a power of two from {} to {} is possible", m.line_bytes,
                                      kMinLineBytes, kMaxLineBytes)};
  if (m.levels.empty())
    return MachineProblem{-1, "", "levels", "the machine has no cache level; it needs at least one"};
  if (m.levels.size() > kMaxLevels)
    return MachineProblem{-1, "", "levels",
                          fmt::format("{} cache levels; at most {} are possible", m.levels.size(), kMaxLevels)};
  if (auto problem = find_core_problem(m)) return problem;
  if (auto problem = find_page_problem(m)) return problem;
  for (size_t i = 0; i < m.levels.size(); ++i)
    if (auto problem = find_level_problem(m, static_cast<int>(i))) return problem;
  return std::nullopt;
}

std::string format_size(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  double value = static_cast<double>(bytes);
  while (value >= 1024 && unit < 4) value /= 1024, ++unit;
  return fmt::format("{:g} {}", value, kUnits[unit]);
}

}  // namespace simrun::sim
