// The table for people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "analysis/sharing/describe_places.h"
#include "analysis/sharing/sharing_report.h"

namespace simrun::analysis {

namespace {

using Buffer = fmt::memory_buffer;

std::string grouped(uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFalseSharing:
      return "FALSE SHARING";
    case Verdict::kTrueSharing:
      return "true sharing";
    case Verdict::kMixed:
      return "FALSE and true sharing";
    case Verdict::kNoMisses:
      break;
  }
  return "no misses";
}

std::string text_of(const SourceFrame& frame) {
  const std::string source = short_source(frame);
  return source.empty() ? frame.function : fmt::format("{} {}", source, frame.function);
}

std::string code_of(const SharingUse& use) {
  const std::string kind = use.prefetches != 0 ? "prefetch, " : use.fetches != 0 ? "fetch, " : "";
  if (use.frames.empty()) return fmt::format("{}{:#x} {}", kind, use.pcs.front(), use.module.substr(use.module.rfind('/') + 1));
  const SourceFrame* const own = &own_frame(use.frames);
  std::string text = kind + text_of(*own);
  if (own != &use.frames.back()) text += " (inlined in " + own[1].function + ")";
  if (own != &use.frames.front()) text += ", by " + text_of(use.frames.front());
  return text;
}

void put_objects(Buffer& out, const SharingLine& line, const UseTotals& all) {
  std::set<std::string> seen;
  for (const SharingUse& use : line.uses) {
    if (!matters(use, all) || !seen.insert(use.data.object).second) continue;
    fmt::format_to(std::back_inserter(out), "      in {}", use.data.object);
    if (use.data.size != 0 && use.data.kind == PlaceKind::kModule)
      fmt::format_to(std::back_inserter(out), ", {} bytes", use.data.size);
    if (!use.data.declared.empty()) fmt::format_to(std::back_inserter(out), ", declared at {}", use.data.declared);
    fmt::format_to(std::back_inserter(out), "\n");
    for (size_t k = 1; k < std::min<size_t>(use.data.allocated_by.size(), 4); ++k)
      fmt::format_to(std::back_inserter(out), "         called by {}\n", use.data.allocated_by[k]);
  }
}

void put_line(Buffer& out, const SharingLine& line, size_t rank) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "\n{:>3}. line {:#x}: {} coherence misses: {}\n", rank, line.address,
                 grouped(line.false_misses + line.true_misses), word(line.verdict));
  fmt::format_to(to, "      {} false, {} true; {} upgrades, {} modified lines handed over; threads {}",
                 grouped(line.false_misses), grouped(line.true_misses), grouped(line.upgrades), grouped(line.transfers),
                 fmt::join(line.threads, ", "));
  if (line.stall_cycles != 0) fmt::format_to(to, "; about {} cycles of waiting", grouped(line.stall_cycles));
  fmt::format_to(to, "\n");
  const UseTotals all = totals_of(line);
  put_objects(out, line, all);
  fmt::format_to(to, "      {:>6} {:>4} {:>6} {:>12} {:>12} {:>10} {:>10} {:>10}  {}\n", "offset", "size", "thread",
                 "reads", "writes", "false", "true", "upgrades", "data; source line");
  size_t left_out = 0;
  for (const SharingUse& use : line.uses) {
    if (!matters(use, all)) {
      ++left_out;
      continue;
    }
    fmt::format_to(to, "      {:>6} {:>4} {:>6} {:>12} {:>12} {:>10} {:>10} {:>10}  {}; {}\n", use.offset, use.bytes,
                   use.thread, grouped(use.reads), grouped(use.writes), grouped(use.false_misses),
                   grouped(use.true_misses), grouped(use.upgrades), name_of(use.data), code_of(use));
  }
  if (left_out != 0)
    fmt::format_to(to, "      and {} rows with less than 1% of the misses and of the accesses\n", left_out);
  if (!line.fix.empty()) fmt::format_to(to, "      fix: {}\n", line.fix);
}

}  // namespace

std::string text_of(const SharingReport& report, uint64_t least_misses) {
  Buffer out;
  const auto to = std::back_inserter(out);
  const uint64_t misses = report.false_misses + report.true_misses;
  uint64_t shown = 0;
  fmt::format_to(to, "   coherence misses of level 1 on data: {} on {} lines of {} bytes\n", grouped(misses),
                 grouped(report.lines), report.line_bytes);
  if (misses != 0)
    fmt::format_to(to, "   {} false sharing, {} true sharing; {} modified lines handed over\n",
                   grouped(report.false_misses), grouped(report.true_misses), grouped(report.transfers));
  if (report.stall_cycles != 0)
    fmt::format_to(to, "   about {} cycles of waiting, over all cores\n", grouped(report.stall_cycles));
  size_t lines = 0;
  for (const SharingLine& line : report.top) {
    if (line.false_misses + line.true_misses < least_misses) break;
    put_line(out, line, ++lines);
    shown += line.false_misses + line.true_misses;
  }
  if (lines == 0 && misses != 0 && !report.top.empty())
    fmt::format_to(to, "   no line is worth a change: {} misses at most (--top N shows them)\n",
                   grouped(report.top[0].false_misses + report.top[0].true_misses));
  else if (report.lines > lines)
    fmt::format_to(to, "\n   {} more lines with {} misses: --top\n", grouped(report.lines - lines), grouped(misses - shown));
  return fmt::to_string(out);
}

}  // namespace simrun::analysis
