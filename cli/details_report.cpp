// What --details adds to the report for people.
#include <fmt/format.h>

#include <iterator>
#include <string>

#include "analysis/sharing/describe_places.h"
#include "cli/report.h"
#include "cli/report_text.h"

namespace simrun::cli {

namespace {

// The share of requests that a fully associative LRU cache of so many lines would answer: [power of two].
std::string share_within(const sim::ReuseStatistics& reuse, size_t power) {
  uint64_t hits = 0;
  for (size_t i = 0; i <= power; ++i) hits += reuse.by_distance[i];
  return fmt::format("{:>9.2f}%", per(hits, reuse.first + reuse.taken_away + reuse.by_distance.total(), 100));
}

void put_classes(Buffer& out, const RunResult& r) {
  put(out, "\n   {:<12}{:>14}{:>14}{:>14}{:>14}{:>14}{:>14}{:>12}{:>14}\n", "misses by", "compulsory", "capacity",
      "conflict", "inclusion", "true sharing", "false sharing", "flushed", "by children");
  for (const auto& level : r.caches.levels) {
    const sim::MissClasses& c = level.details->classes;
    put(out, "   {:<12}{:>14}{:>14}{:>14}{:>14}{:>14}{:>14}{:>12}{:>14}\n", level.name, grouped(c.compulsory),
        grouped(c.capacity), grouped(c.conflict), grouped(c.inclusion), grouped(c.true_sharing),
        grouped(c.false_sharing), grouped(c.flushed), grouped(c.supplied_by_children));
  }
}

void put_lifetimes(Buffer& out, const RunResult& r) {
  put(out, "\n   {:<12}{:>16}{:>20}{:>16}{:>14}\n", "lines that left", "", "references lived", "hits each",
      "never hit");
  for (const auto& level : r.caches.levels) {
    const sim::LifetimeStatistics& l = level.details->lifetimes;
    put(out, "   {:<12}{:>19}{:>20.1f}{:>16.2f}{:>13.2f}%\n", level.name, grouped(l.lines), per(l.references, l.lines),
        per(l.hits, l.lines), per(l.unused, l.lines, 100));
  }
  put(out, "\n   {:<20}", "reuse within");
  constexpr size_t kPowers[] = {0, 3, 6, 9, 12, 15, 18, 21};
  for (const size_t power : kPowers) put(out, "{:>10}", fmt::format("{}", uint64_t{1} << power));
  put(out, "  lines\n");
  for (const auto& level : r.caches.levels) {
    put(out, "   {:<20}", level.name);
    for (const size_t power : kPowers) put(out, "{}", share_within(level.details->reuse, power));
    put(out, "\n");
  }
}

template <class Misses>
std::string by_level(const Misses& misses, size_t levels) {
  std::string text;
  for (size_t level = 0; level < levels; ++level) text += fmt::format("{:>13}", grouped(misses[level]));
  return text;
}

void put_heading(Buffer& out, const RunResult& r, const char* what) {
  put(out, "\n   {:<20}{:>16}", what, "stall cycles");
  for (const sim::LevelConfig& level : r.machine->levels) put(out, "{:>13}", level.name + " misses");
  put(out, "{:>10}\n", "sharing");
}

// The address, with the index of its process when there are several.
std::string place_name(const RunResult& r, uint32_t process, uint64_t address) {
  return r.processes.size() < 2 ? fmt::format("{:#x}", address) : fmt::format("{}:{:#x}", process, address);
}

std::string cut_short(const std::string& name) {
  constexpr size_t kMost = 60;
  return name.size() <= kMost ? name : name.substr(0, kMost - 3) + "...";
}

// The innermost function that is not of a library's header, and by which of those it does so.
std::string code_name(const HotInstruction& i) {
  if (i.frames.empty()) return i.module.empty() ? "" : i.module.substr(i.module.rfind('/') + 1);
  const auto name = [&](const analysis::SourceFrame& frame) {
    const std::string source = analysis::short_source(frame);
    return source.empty() ? fmt::format("{} ({})", cut_short(frame.function), i.module.substr(i.module.rfind('/') + 1))
                          : fmt::format("{} {}", cut_short(frame.function), source);
  };
  const analysis::SourceFrame& own = analysis::own_frame(i.frames);
  return &own == &i.frames.front() ? name(own) : fmt::format("{}, by {}", name(own), name(i.frames.front()));
}

std::string data_name(const analysis::DataName& d) {
  return d.object.empty() ? ""
                          : fmt::format("{}{} {:+}", d.object, d.member, d.offset - (d.member.empty() ? 0 : d.part));
}

void put_hot_spots(Buffer& out, const RunResult& r) {
  const size_t levels = r.machine->levels.size();
  put_heading(out, r, "instructions");
  for (const HotInstruction& i : r.hot_spots->instructions)
    put(out, "   {:<20}{:>16}{}{:>10}  {}\n", place_name(r, i.process, i.pc), grouped(i.stall_cycles),
        by_level(i.counts.misses, levels), grouped(i.counts.sharing.coherence_misses()), code_name(i));
  put_heading(out, r, "lines");
  for (const HotLine& l : r.hot_spots->lines)
    put(out, "   {:<20}{:>16}{}{:>10}  {}\n", place_name(r, l.process, l.address), grouped(l.stall_cycles),
        by_level(l.misses, levels), grouped(l.sharing.coherence_misses()), data_name(l.data));
}

}  // namespace

std::string details_report(const RunResult& r) {
  if (!r.hot_spots || !r.machine) return "";
  Buffer out;
  put_classes(out, r);
  put_lifetimes(out, r);
  put_hot_spots(out, r);
  return fmt::to_string(out);
}

}  // namespace simrun::cli
