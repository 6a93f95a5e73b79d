// What --details adds to the report for people.
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <numeric>
#include <string>

#include "analysis/sharing/describe_places.h"
#include "cli/report.h"
#include "cli/report_text.h"
#include "sim/stats/timing.h"

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

// Of what the machine's estimate has as stalls beyond its levels 1, but for those of TLBs.
double all_stalls(const RunResult& r) {
  double sum = 0;
  for (size_t core = 0; core < r.caches.cores.size(); ++core) {
    const sim::CoreTiming t = sim::timing_of(*r.machine, r.caches.cores[core], 0);
    sum += std::accumulate(t.stall_cycles.begin(), t.stall_cycles.end(), t.transfer_cycles + t.upgrade_cycles);
  }
  return sum;
}

void put_heading(Buffer& out, const RunResult& r, const char* what) {
  put(out, "\n   {:<20}{:>16}{:>8}", what, "stall cycles", "");
  for (const sim::LevelConfig& level : r.machine->levels) put(out, "{:>13}", level.name + " misses");
  put(out, "{:>10}\n", "sharing");
}

struct Rows {
  Buffer& out;
  size_t levels;
  double all_stalls;

  template <class Misses>
  void put_row(const std::string& first, const Cost& cost, const Misses& misses, uint64_t sharing, const std::string& name) {
    const std::string share = all_stalls > 0 ? fmt::format("{:.1f}%", cost.stall_cycles / all_stalls * 100) : "";
    put(out, "   {:<20}{:>16}{:>8}{}{:>10}  {}\n", first, grouped(static_cast<uint64_t>(std::llround(cost.stall_cycles))), share,
        by_level(misses, levels), grouped(sharing), name);
  }
};

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

std::string file_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string process_prefix(const RunResult& r, uint32_t process) { return r.processes.size() < 2 ? "" : fmt::format("{}:", process); }

std::string object_name(const HotObject& o) {
  std::string name = o.object;
  for (size_t k = 1; k < o.allocated_by.size(); ++k) name += (k == 1 ? ", called by " : ", ") + o.allocated_by[k];
  if (o.counts.blocks > 1) name += fmt::format(" ({} blocks)", grouped(o.counts.blocks));
  return name;
}

void put_hot_spots(Buffer& out, const RunResult& r) {
  const HotSpots& spots = *r.hot_spots;
  Rows rows{out, r.machine->levels.size(), all_stalls(r)};
  put_heading(out, r, "functions");
  for (const HotFunction& f : spots.functions)
    rows.put_row(process_prefix(r, f.process) + file_of(f.module), f.cost, f.counts.misses, f.counts.sharing.coherence_misses(),
            f.function.empty() ? "(no symbol)" : cut_short(f.function));
  put_heading(out, r, "instructions");
  for (const HotInstruction& i : spots.instructions)
    rows.put_row(place_name(r, i.process, i.pc), i.cost, i.counts.misses, i.counts.sharing.coherence_misses(), code_name(i));
  if (!spots.objects.empty()) put_heading(out, r, "objects, bytes");
  for (const HotObject& o : spots.objects)
    rows.put_row(process_prefix(r, o.process) + (o.bytes == 0 ? "" : grouped(o.bytes)), o.cost, o.counts.misses, o.counts.coherence_misses, object_name(o));
  put_heading(out, r, "lines");
  for (const HotLine& l : spots.lines)
    rows.put_row(place_name(r, l.process, l.address), l.cost, l.misses, l.sharing.coherence_misses(), data_name(l.data));
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
