// See the header. Read beside docs/cache-model.md.
#include "tests/sim/reference_model.h"

namespace simrun::sim {

ReferenceModel::ReferenceModel(const MachineConfig& config) : config_(config), cores_(config.cores) {
  std::vector<Cache*> above;
  for (uint32_t level = 0; level < config.levels.size(); ++level) {
    const LevelConfig& l = config.levels[level];
    std::vector<Cache*> here;
    const auto add_caches = [&](Side side, const CacheShape& shape, const char* suffix) {
      for (uint32_t core = 0; core < config.cores; core += l.cores_per_cache) {
        auto cache = std::make_unique<Cache>();
        cache->name = l.name + suffix + "." + std::to_string(core / l.cores_per_cache);
        cache->level = level, cache->side = side, cache->first_core = core, cache->cores = l.cores_per_cache;
        cache->ways = shape.ways;
        cache->sets.resize(shape.size_bytes / shape.ways / config.line_bytes);
        cache->counts.name = cache->name, cache->counts.first_core = core;
        cache->counts.by_core.resize(l.cores_per_cache);
        for (Cache* child : above)
          if (child->first_core >= core && child->first_core < core + l.cores_per_cache &&
              (!l.split || child->side == side)) {
            child->parent = cache.get();
            cache->children.push_back(child);
          }
        here.push_back(cache.get());
        caches_.push_back(std::move(cache));
      }
    };
    if (l.split) {
      add_caches(Side::kInstruction, l.instruction, "I");
      add_caches(Side::kData, l.data, "D");
    } else {
      add_caches(Side::kUnified, l.unified, "");
    }
    above = here;
  }
  last_level_ = above;
}

ReferenceModel::Line* ReferenceModel::Cache::find(uint64_t line) {
  for (Line& l : set(line))
    if (l.number == line) return &l;
  return nullptr;
}

ReferenceModel::Cache* ReferenceModel::level1(uint32_t core, bool fetch) {
  for (auto& cache : caches_)
    if (cache->level == 0 && core >= cache->first_core && core < cache->first_core + cache->cores &&
        (cache->side == Side::kUnified || (cache->side == Side::kInstruction) == fetch))
      return cache.get();
  return nullptr;
}

void ReferenceModel::count(AccessCounts& counts, Access kind) {
  switch (kind) {
    case Access::kFetch:
      ++counts.fetches;
      break;
    case Access::kLoad:
      ++counts.reads;
      break;
    case Access::kStore:
      ++counts.writes;
      break;
    case Access::kReadModifyWrite:
      ++counts.writes;
      break;
    case Access::kPrefetch:
      ++counts.prefetches;
      break;
    case Access::kFlush:
      break;
  }
}

void ReferenceModel::access(uint32_t core, Access kind, uint64_t address, uint32_t bytes) {
  CoreStatistics& c = cores_[core];
  switch (kind) {
    case Access::kFetch:
      ++c.fetches;
      break;
    case Access::kLoad:
      ++c.loads;
      break;
    case Access::kStore:
      ++c.stores;
      break;
    case Access::kReadModifyWrite:
      ++c.read_modify_writes;
      break;
    case Access::kPrefetch:
      ++c.prefetches;
      break;
    case Access::kFlush:
      ++c.flushes;
      break;
  }
  const uint64_t first = address / config_.line_bytes;
  uint64_t last = (address + (bytes == 0 ? 0 : bytes - 1)) / config_.line_bytes;
  if (last < first) last = ~uint64_t{0} / config_.line_bytes;
  c.line_crossings += last - first;
  for (uint64_t line = first; line <= last; ++line) {
    if (kind == Access::kFlush)
      flush(line);
    else
      request(level1(core, kind == Access::kFetch), core, kind, line);
  }
}

void ReferenceModel::access_line(uint32_t core, Access kind, uint64_t line) {
  access(core, kind, line * config_.line_bytes, 1);
}

void ReferenceModel::request(Cache* cache, uint32_t core, Access kind, uint64_t line) {
  RequestStatistics& counts = cache->counts.by_core[core - cache->first_core];
  count(counts.accesses, kind);
  std::list<Line>& set = cache->set(line);

  if (Line* hit = cache->find(line)) {
    set.splice(set.begin(), set, [&] {
      auto i = set.begin();
      while (&*i != hit) ++i;
      return i;
    }());
    if (is_write(kind) && hit->state == Mesi::kShared) make_exclusive(cache, line);
  } else {
    count(counts.misses, kind);
    Cache* parent = cache->parent;
    if (parent != nullptr) request(parent, core, kind, line);
    const bool supplied =
        is_write(kind) ? take_from_other_children(parent, cache, line) : stop_other_writers(parent, cache, line);
    if (parent == nullptr && !supplied) ++memory_.reads;
    const bool parent_exclusive = parent == nullptr || is_exclusive(parent->find(line)->state);
    const bool alone = !any_other_child_holds(parent, cache, line);
    const bool exclusive = is_write(kind) || (parent_exclusive && alone && cache->side != Side::kInstruction);
    if (set.size() == cache->ways) evict_last(cache, set);
    set.push_front({line, exclusive ? Mesi::kExclusive : Mesi::kShared});
  }
  if (cache->level == 0 && is_write(kind)) cache->find(line)->state = Mesi::kModified;
}

bool ReferenceModel::any_other_child_holds(Cache* parent, Cache* child, uint64_t line) {
  for (Cache* other : children_of(parent))
    if (other != child && other->find(line) != nullptr) return true;
  return false;
}

bool ReferenceModel::stop_other_writers(Cache* parent, Cache* child, uint64_t line) {
  bool modified = false;
  for (Cache* other : children_of(parent)) {
    const Line* held = other->find(line);
    if (other == child || held == nullptr || !is_exclusive(held->state)) continue;
    if (make_shared(other, line)) {
      write_back_into(parent, line);
      modified = true;
    }
  }
  return modified;
}

bool ReferenceModel::take_from_other_children(Cache* parent, Cache* child, uint64_t line) {
  bool modified = false;
  for (Cache* other : children_of(parent)) {
    if (other == child || other->find(line) == nullptr) continue;
    ++(parent == nullptr ? memory_.invalidations_sent : parent->counts.total.invalidations_sent);
    if (remove(other, line, Why::kOtherWrites)) {
      write_back_into(parent, line);
      modified = true;
    }
  }
  return modified;
}

// `cache` has the line Shared and wants to be the only one: the caches toward memory must be first.
void ReferenceModel::make_exclusive(Cache* cache, uint64_t line) {
  ++cache->counts.total.upgrades;
  Cache* parent = cache->parent;
  if (parent != nullptr && parent->find(line)->state == Mesi::kShared) make_exclusive(parent, line);
  take_from_other_children(parent, cache, line);
  cache->find(line)->state = Mesi::kExclusive;
}

// The line leaves `cache` and the caches that it includes. Returns whether it was modified there.
bool ReferenceModel::remove(Cache* cache, uint64_t line, Why why) {
  CacheStatistics& total = cache->counts.total;
  for (Cache* child : cache->children) {
    if (child->find(line) == nullptr) continue;
    if (why == Why::kOtherWrites) ++total.invalidations_sent;
    if (remove(child, line, why)) write_back_into(cache, line);
  }
  const Mesi state = cache->find(line)->state;
  if (why == Why::kOtherWrites) {
    ++total.invalidations_received;
    if (is_exclusive(state)) ++total.interventions;
    if (state == Mesi::kModified) ++total.dirty_interventions;
  }
  if (why == Why::kParentEvicts) ++total.back_invalidations;
  if (why == Why::kFlush) ++total.flushed_lines;
  if (state == Mesi::kModified) ++total.write_backs_out;
  cache->set(line).remove_if([&](const Line& l) { return l.number == line; });
  return state == Mesi::kModified;
}

// Another cache wants to read what `cache` holds Exclusive or Modified. Returns whether it was modified.
bool ReferenceModel::make_shared(Cache* cache, uint64_t line) {
  for (Cache* child : cache->children) {
    const Line* held = child->find(line);
    if (held != nullptr && is_exclusive(held->state) && make_shared(child, line)) write_back_into(cache, line);
  }
  Line* mine = cache->find(line);
  const bool modified = mine->state == Mesi::kModified;
  CacheStatistics& total = cache->counts.total;
  ++total.downgrades;
  ++total.interventions;
  if (modified) ++total.dirty_interventions, ++total.write_backs_out;
  mine->state = Mesi::kShared;
  return modified;
}

void ReferenceModel::write_back_into(Cache* parent, uint64_t line) {
  if (parent == nullptr) {
    ++memory_.writes;
  } else {
    ++parent->counts.total.write_backs_in;
    parent->find(line)->state = Mesi::kModified;
  }
}

void ReferenceModel::evict_last(Cache* cache, std::list<Line>& set) {
  const uint64_t line = set.back().number;
  ++cache->counts.total.evictions;
  for (Cache* child : cache->children)
    if (child->find(line) != nullptr && remove(child, line, Why::kParentEvicts)) write_back_into(cache, line);
  if (set.back().state == Mesi::kModified) {
    ++cache->counts.total.write_backs_out;
    write_back_into(cache->parent, line);
  }
  set.pop_back();
}

void ReferenceModel::flush(uint64_t line) {
  for (Cache* cache : last_level_)
    if (cache->find(line) != nullptr && remove(cache, line, Why::kFlush)) write_back_into(nullptr, line);
}

Statistics ReferenceModel::statistics() const {
  Statistics result;
  for (const auto& cache : caches_) {
    if (result.levels.empty() || result.levels.back().level != cache->level + 1 ||
        result.levels.back().side != cache->side)
      result.levels.push_back({cache->name.substr(0, cache->name.rfind('.')), cache->level + 1, cache->side, {}, {}});
    CacheInstanceStatistics counts = cache->counts;
    for (const RequestStatistics& r : counts.by_core) counts.total.requests += r;
    result.levels.back().total += counts.total;
    result.levels.back().caches.push_back(counts);
  }
  result.cores = cores_;
  result.memory = memory_;
  return result;
}

}  // namespace simrun::sim
