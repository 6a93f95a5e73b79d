// Pages and prefetching of the reference model.
#include <algorithm>

#include "tests/sim/reference_model.h"

namespace simrun::sim {

bool ReferenceModel::Pages::touch(uint64_t page) {
  std::vector<uint64_t>& set = sets[page % (shape.entries / shape.ways)];
  bool found = false;
  for (size_t i = 0; i < set.size(); ++i)
    if (set[i] == page) {
      set.erase(set.begin() + static_cast<ptrdiff_t>(i));
      found = true;
      break;
    }
  set.insert(set.begin(), page);
  if (set.size() > shape.ways) set.pop_back();
  return found;
}

uint64_t ReferenceModel::translate(uint32_t core, Access kind, uint64_t line) {
  const uint64_t lines_of_page = std::max<uint64_t>(config_.page_bytes / config_.line_bytes, 1);
  const uint64_t page = line / lines_of_page;
  if (config_.tlb) {
    CoreTlb& tlb = tlbs_[core];
    TlbCounts& counts = kind == Access::kFetch ? cores_[core].fetch_tlb : cores_[core].data_tlb;
    ++counts.accesses;
    if (!(kind == Access::kFetch ? tlb.instruction : tlb.data).touch(page)) {
      ++counts.misses;
      if (config_.tlb->second.entries == 0 || !tlb.second.touch(page)) ++counts.walks;
    }
  }
  if (config_.addresses != Addresses::kFirstTouch) return line;
  if (!frames_.contains(page)) frames_.emplace(page, frames_.size());
  return frames_[page] * lines_of_page + line % lines_of_page;
}

uint64_t ReferenceModel::latency(Side side, uint32_t level) const {
  if (level == config_.levels.size()) return config_.memory_latency;
  const LevelConfig& l = config_.levels[level];
  return (!l.split ? l.unified : side == Side::kInstruction ? l.instruction : l.data).latency;
}

void ReferenceModel::observe(Cache* cache, uint32_t core, Access kind, uint64_t line) {
  if (cache->predictor == nullptr || kind == Access::kPrefetch) return;
  bool is_new = cache->find(line) == nullptr;
  if (const auto mark = cache->marks.find(line); mark != cache->marks.end()) {
    is_new = true;
    ++cache->total().prefetches_useful;
    if (mark->second.first == core && clocks_[core] < mark->second.second) ++cache->total().prefetches_late;
    cache->marks.erase(mark);
  }
  cache->predictor->observe(line, pc_, is_new, [&](uint64_t wanted) { wanted_.push_back({cache, core, wanted}); });
}

void ReferenceModel::prefetch(Cache* cache, uint32_t core, uint64_t line) {
  if (holds(cache, line)) {
    ++cache->total().prefetches_redundant;
    return;
  }
  ++cache->total().prefetches_issued;
  const Grant grant = get(cache->parent, cache, core, Access::kPrefetch, line);
  if (!cache->includes()) set_exclusive(cache, line, grant.exclusive);
  place(cache, line, make_state(cache->includes() && grant.exclusive, grant.dirty));
  cache->marks[line] = {core, clocks_[core] + latency(cache->side, service_level_)};
}

}  // namespace simrun::sim
