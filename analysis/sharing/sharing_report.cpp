#include "analysis/sharing/sharing_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/sharing/describe_places.h"
#include "analysis/sharing/propose_fix.h"

namespace simrun::analysis {

namespace {

// Shares of misses beyond which a line is the one or the other.
constexpr double kClear = 0.9;

Verdict verdict_of(uint64_t false_misses, uint64_t true_misses) {
  const double all = static_cast<double>(false_misses + true_misses);
  if (all == 0) return Verdict::kNoMisses;
  if (static_cast<double>(false_misses) >= kClear * all) return Verdict::kFalseSharing;
  if (static_cast<double>(true_misses) >= kClear * all) return Verdict::kTrueSharing;
  return Verdict::kMixed;
}

void add(SharingUse& to, const LineUse& from) {
  to.reads += from.reads;
  to.writes += from.writes;
  to.prefetches += from.prefetches;
  to.fetches += from.fetches;
  to.false_misses += from.false_misses;
  to.true_misses += from.true_misses;
  to.upgrades += from.upgrades;
  to.transfers += from.transfers;
  to.pcs.push_back(from.pc);
}

// One row for each thread, range of bytes and source line.
std::vector<SharingUse> resolve_uses(const SharedLine& line) {
  using Key = std::tuple<uint32_t, uint32_t, uint32_t, std::string>;
  std::map<Key, SharingUse> rows;
  for (const LineUse& use : line.uses) {
    PlaceNames names(*use.space);
    auto frames = names.code(use.code);
    std::string where = fmt::format("{:#x}", use.pc);
    if (std::any_of(frames.begin(), frames.end(), [](const SourceFrame& f) { return f.line != 0; })) {   // compilers have code of no line
      where.clear();
      for (const SourceFrame& f : frames) where += fmt::format("{}|{}|{};", f.function, f.file, f.line);
    }
    DataName data = names.data(use.data);
    where += fmt::format("|{}|{}|{}|{}", static_cast<int>(data.kind), data.object, use.prefetches != 0, use.fetches != 0);
    SharingUse& row = rows[{use.offset, use.thread, use.bytes, where}];
    if (row.pcs.empty()) {
      row.thread = use.thread;
      row.offset = use.offset;
      row.bytes = use.bytes;
      row.data = std::move(data);
      row.frames = std::move(frames);
      row.module = names.module(use.code);
    }
    add(row, use);
  }
  std::vector<SharingUse> uses;
  for (auto& [key, row] : rows) uses.push_back(std::move(row));
  return uses;
}

SharingLine resolve(const SharedLine& line, uint32_t line_bytes) {
  SharingLine result;
  result.address = line.address;
  result.verdict = verdict_of(line.false_misses, line.true_misses);
  result.false_misses = line.false_misses;
  result.true_misses = line.true_misses;
  result.upgrades = line.upgrades;
  result.transfers = line.transfers;
  result.stall_cycles = line.stall_cycles;
  for (const LineUse& use : line.uses) result.threads.push_back(use.thread);
  std::sort(result.threads.begin(), result.threads.end());
  result.threads.erase(std::unique(result.threads.begin(), result.threads.end()), result.threads.end());
  result.uses = resolve_uses(line);
  result.fix = propose_fix(result, line_bytes);
  return result;
}

uint64_t moves_of(const SharingUse& use) { return use.false_misses + use.true_misses + use.upgrades; }

}  // namespace

UseTotals totals_of(const SharingLine& line) {
  UseTotals all;
  for (const SharingUse& use : line.uses) {
    all.accesses += use.reads + use.writes;
    all.moves += moves_of(use);
  }
  return all;
}

bool matters(const SharingUse& use, const UseTotals& all) {
  return 100 * moves_of(use) >= std::max<uint64_t>(all.moves, 1) || 100 * (use.reads + use.writes) >= all.accesses;
}

SharingReport make_report(std::vector<SharedLine> lines, uint32_t line_bytes, size_t top) {
  SharingReport report;
  report.line_bytes = line_bytes;
  for (const SharedLine& line : lines) {
    report.lines += line.misses() != 0;
    report.false_misses += line.false_misses;
    report.true_misses += line.true_misses;
    report.upgrades += line.upgrades;
    report.transfers += line.transfers;
    report.stall_cycles += line.stall_cycles;
  }
  std::erase_if(lines, [](const SharedLine& line) { return line.misses() == 0; });
  std::sort(lines.begin(), lines.end(), [](const SharedLine& a, const SharedLine& b) {
    return std::tuple(b.misses(), b.stall_cycles, a.address) < std::tuple(a.misses(), a.stall_cycles, b.address);
  });
  for (size_t i = 0; i < std::min(top, lines.size()); ++i) report.top.push_back(resolve(lines[i], line_bytes));
  return report;
}

}  // namespace simrun::analysis
