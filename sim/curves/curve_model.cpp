#include "sim/curves/curve_model.h"

#include "base/user_error.h"

namespace simrun::sim {

CurveModel::CurveModel(const MachineConfig& machine, const std::string& level)
    : model_(machine),
      name_(level),
      line_shift_(static_cast<uint32_t>(std::countr_zero(machine.line_bytes))),
      coherent_(machine.coherence != Coherence::kNone) {
  std::string known;
  for (const LevelStatistics& l : model_.statistics().levels) {
    known += (known.empty() ? "" : ", ") + l.name;
    if (l.name != level) continue;
    level_ = l.level - 1, side_ = l.side;
    cores_per_cache_ = machine.levels[level_].cores_per_cache;
    caches_.resize(l.caches.size());
  }
  if (caches_.empty())
    throw UserError("the machine " + machine.name + " has no level '" + level + "' (it has " + known + ")", 2);
  if (machine.addresses != Addresses::kVirtual)
    throw UserError("miss curves go by virtual address; they need 'addresses: virtual'", 2);
  if (level_ > 0) model_.tell_of_requests(this);
}

void CurveModel::access_line(uint32_t core, Access kind, uint64_t line) {
  look_at(core, kind, line);
  model_.access_line(core, kind, line);
}

void CurveModel::access_further_line(uint32_t core, Access kind, uint64_t line) {
  look_at(core, kind, line);
  model_.access_further_line(core, kind, line);
}

void CurveModel::access(uint32_t core, Access kind, uint64_t address, uint32_t bytes) {
  const uint64_t end = address + (bytes != 0 ? bytes - 1 : 0);
  const uint64_t last = (end < address ? ~uint64_t{0} : end) >> line_shift_;
  for (uint64_t line = address >> line_shift_; line <= last; ++line) look_at(core, kind, line);
  model_.access(core, kind, address, bytes);
}

void CurveModel::look_at(uint32_t core, Access kind, uint64_t line) {
  const uint32_t own = core / cores_per_cache_;
  const bool is_here = side_ == Side::kUnified || (side_ == Side::kInstruction) == (kind == Access::kFetch);
  if ((coherent_ && is_write(kind)) || kind == Access::kFlush)
    for (uint32_t cache = 0; cache < caches_.size(); ++cache)
      if (cache != own || !is_here || kind == Access::kFlush) caches_[cache].invalidate(line);
  if (level_ == 0 && is_here && kind != Access::kFlush) caches_[own].access(line);
}

void CurveModel::request(uint32_t level, Side side, uint32_t core, Access, uint64_t line) {
  if (level == level_ && side == side_) caches_[core / cores_per_cache_].access(line);
}

MissCurve CurveModel::curve() const {
  MissCurve curve;
  curve.level = name_, curve.caches = caches_.size();
  uint64_t most = 1;
  for (const StackDistance& cache : caches_) {
    const MattsonStack& stack = cache.stack();
    curve.accesses += stack.accesses(), curve.compulsory += stack.compulsory();
    curve.invalidated += stack.invalidated();
    most = std::max(most, stack.distinct_lines());
  }
  constexpr uint64_t kSteps = 4;
  for (uint64_t power = 1;; power *= 2)
    for (uint64_t step = 0; step < kSteps; ++step) {
      if (power * (kSteps + step) % kSteps != 0) continue;
      const uint64_t lines = power * (kSteps + step) / kSteps;
      uint64_t misses = 0;
      for (const StackDistance& cache : caches_) misses += cache.stack().misses(lines);
      curve.points.push_back({lines << line_shift_, misses});
      if (lines >= most) return curve;
    }
}

}  // namespace simrun::sim
