#include "cli/empty_selection.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "cli/report.h"

namespace simrun::cli {

namespace {

constexpr uint64_t kEnd = std::numeric_limits<uint64_t>::max();

// Numbers of the first and last instruction that it was shown.
class Extent final : public traces::Visitor {
 public:
  explicit Extent(bool first_only) : first_only_(first_only) {}
  bool on_instruction(const traces::InstructionRecord& i) override {
    if (!first) first = i.number;
    last = i.number;
    return !first_only_;
  }
  std::optional<uint64_t> first, last;

 private:
  const bool first_only_;
};

bool holds(const traces::ChunkInfo& chunk, const traces::WalkOptions& walk) {
  for (const traces::PartInfo& part : chunk.parts)
    if ((walk.thread < 0 || part.thread == static_cast<uint64_t>(walk.thread)) &&
        (walk.process < 0 || part.process == static_cast<uint64_t>(walk.process)) && part.instructions != 0)
      return true;
  return false;
}

// From the first to the last instruction of its thread and process. Decodes two chunks.
std::optional<std::pair<uint64_t, uint64_t>> extent_of(const traces::Reader& trace, traces::WalkOptions walk) {
  const traces::ChunkInfo *first = nullptr, *last = nullptr;
  for (const traces::ChunkInfo& chunk : trace.chunks()) {
    if (!holds(chunk, walk)) continue;
    if (first == nullptr) first = &chunk;
    last = &chunk;
  }
  if (first == nullptr) return {};
  Extent begin(true), end(false);
  walk.from = first->section.first_instruction;
  walk.to = kEnd;
  traces::walk(trace, walk, begin);
  walk.from = last->section.first_instruction;
  walk.to = last->section.first_instruction + last->section.instructions;
  traces::walk(trace, walk, end);
  if (!begin.first || !end.last) return {};
  return {{*begin.first, *end.last}};
}

}  // namespace

UserError nothing_selected(const traces::Reader& trace, const traces::WalkOptions& walk) {
  if (walk.to <= walk.from)
    return UserError(fmt::format("from {} up to {}: the end must lie behind the beginning", grouped(walk.from), grouped(walk.to)), 2);
  std::string what = fmt::format("{} has no instruction", trace.path());
  if (walk.thread >= 0) what += fmt::format(" of thread {}", walk.thread);
  if (walk.process >= 0) what += fmt::format("{} process {}", walk.thread >= 0 ? " in" : " of", walk.process);
  if (walk.from != 0 || walk.to != kEnd)
    what += walk.to == kEnd ? fmt::format(" from {} on", grouped(walk.from))
                            : fmt::format(" from {} up to {}", grouped(walk.from), grouped(walk.to));
  const auto extent = extent_of(trace, walk);
  const bool has_some = extent && walk.from <= extent->second && walk.to > extent->first;
  if (extent) what += fmt::format("; the first one is number {}, the last {}", grouped(extent->first), grouped(extent->second));
  if (has_some) what += " (paths that are simulated are simulated whole, and lie where they begin)";
  if (!trace.incomplete().empty()) what += "; " + trace.incomplete();
  return UserError(what);
}

}  // namespace simrun::cli
