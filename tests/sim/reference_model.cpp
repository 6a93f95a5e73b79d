// See the header. Read beside docs/cache-model.md.
#include "tests/sim/reference_model.h"

namespace simrun::sim {

ReferenceModel::ReferenceModel(const MachineConfig& config)
    : config_(config), clocks_(config.cores), cores_(config.cores) {
  if (config.tlb)
    tlbs_.assign(config.cores, {{config.tlb->instruction, {}}, {config.tlb->data, {}}, {config.tlb->second, {}}});
  for (CoreStatistics& core : cores_)
    core.served.resize(config.levels.size() + 1), core.upgrades.resize(config.levels.size() + 1);
  std::vector<Cache*> above;
  for (uint32_t level = 0; level < config.levels.size(); ++level) {
    const LevelConfig& l = config.levels[level];
    std::vector<Cache*> here;
    const auto add_caches = [&](Side side, const CacheShape& shape, const char* suffix) {
      for (uint32_t core = 0; core < config.cores; core += l.cores_per_cache) {
        auto cache =
            std::make_unique<Cache>(l.replacement, shape.size_bytes / shape.ways / config.line_bytes, shape.ways);
        if (level > 0) cache->inclusion = l.inclusion;
        cache->write_through = l.write_policy == WritePolicy::kWriteThrough;
        cache->write_allocate = l.write_miss == WriteMiss::kAllocate;
        cache->name = l.name + suffix + "." + std::to_string(core / l.cores_per_cache);
        cache->level = level, cache->side = side, cache->first_core = core, cache->cores = l.cores_per_cache;
        cache->counts.name = cache->name, cache->counts.first_core = core;
        cache->counts.by_core.resize(l.cores_per_cache);
        if (!shape.prefetch.empty())
          cache->predictor = std::make_unique<PrefetchPredictor>(shape.prefetch, config.line_bytes);
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

ReferenceLine* ReferenceModel::Cache::find(uint64_t line) {
  for (auto& way : array.set(line).ways)
    if (way && way->number == line) return &*way;
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
      ++counts.writes, ++counts.read_modify_writes;
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
    ++clocks_[core];
    const uint64_t translated = translate(core, kind, line);
    if (kind == Access::kFlush)
      flush(translated);
    else
      reference(level1(core, kind == Access::kFetch), core, kind, translated);
    for (size_t i = 0; i < wanted_.size(); ++i) prefetch(wanted_[i].cache, wanted_[i].core, wanted_[i].line);
    wanted_.clear();
  }
}

void ReferenceModel::access_line(uint32_t core, Access kind, uint64_t line) {
  access(core, kind, line * config_.line_bytes, 1);
}

bool ReferenceModel::holds(Cache* cache, uint64_t line) {
  return cache->find(line) != nullptr || any_child_holds(cache, line, nullptr);
}

bool ReferenceModel::any_child_holds(Cache* parent, uint64_t line, const Cache* but) {
  for (Cache* child : children_of(parent))
    if (child != but && holds(child, line)) return true;
  return false;
}

bool ReferenceModel::exclusive(Cache* cache, uint64_t line) {
  if (cache == nullptr) return true;
  return cache->includes() ? is_exclusive(cache->find(line)->state) : cache->permission[line];
}

void ReferenceModel::set_exclusive(Cache* cache, uint64_t line, bool exclusive) {
  if (!cache->includes())
    cache->permission[line] = exclusive;
  else
    cache->find(line)->state = make_state(exclusive, is_dirty(cache->find(line)->state));
}

bool ReferenceModel::dirty(Cache* cache, uint64_t line) {
  const ReferenceLine* mine = cache->find(line);
  if (mine != nullptr && is_dirty(mine->state)) return true;
  for (Cache* child : cache->children)
    if (holds(child, line) && dirty(child, line)) return true;
  return false;
}

void ReferenceModel::snoop(Cache* parent) {
  if (config_.requests != Requests::kSnooping) return;
  (parent == nullptr ? memory_.snoops_sent : parent->total().snoops_sent) += children_of(parent).size() - 1;
}

void ReferenceModel::reference(Cache* cache, uint32_t core, Access kind, uint64_t line) {
  RequestStatistics& counts = cache->counts.by_core[core - cache->first_core];
  count(counts.accesses, kind);
  ReferenceSet& set = cache->array.set(line);
  bool hit = false;
  for (size_t way = 0; way < set.ways.size(); ++way)
    if (set.ways[way] && set.ways[way]->number == line) cache->array.hit(set, way), hit = true;
  if (!hit) count(counts.misses, kind);
  observe(cache, core, kind, line);
  if (is_write(kind) && (cache->write_through || (!hit && !cache->write_allocate))) {
    pass_write(cache, core, kind, line, hit || cache->write_allocate);
    if (!hit && cache->write_allocate) place(cache, line, State::kShared);
    if (hit)
      count(cores_[core].served[0], kind);
    else
      count_service(core, kind);
    return;
  }
  if (hit) {
    count(cores_[core].served[0], kind);
  } else {
    const Grant grant = get(cache->parent, cache, core, kind, line);
    count_service(core, kind);
    place(cache, line, make_state(grant.exclusive, grant.dirty));
  }
  if (is_write(kind) && !exclusive(cache, line)) {
    ++cache->total().upgrades;
    make_exclusive(cache, line);
    ++cores_[core].upgrades[permission_level_];
  }
  if (is_write(kind)) cache->find(line)->state = State::kModified;
}

void ReferenceModel::count_service(uint32_t core, Access kind) {
  count(cores_[core].served[service_level_], kind);
  if (supplier_ == nullptr) return;
  count(cores_[core].handed_over, kind);
  ++transfers_[{core, supplier_->first_core}];
}

ReferenceModel::Grant ReferenceModel::get(Cache* parent, Cache* child, uint32_t core, Access kind, uint64_t line) {
  snoop(parent);
  if (parent == nullptr) return get_from_memory(child, kind, line);
  RequestStatistics& counts = parent->counts.by_core[core - parent->first_core];
  count(counts.accesses, kind);
  observe(parent, core, kind, line);
  if (parent->find(line) == nullptr)
    count(counts.misses, kind);
  else
    service_level_ = parent->level, supplier_ = nullptr;
  if (!parent->includes()) return get_from_not_inclusive(parent, child, core, kind, line);
  if (parent->find(line) == nullptr) {
    const Grant grant = get(parent->parent, parent, core, kind, line);
    place(parent, line, make_state(grant.exclusive, grant.dirty));
  } else {
    ReferenceSet& set = parent->array.set(line);
    for (size_t way = 0; way < set.ways.size(); ++way)
      if (set.ways[way] && set.ways[way]->number == line) parent->array.hit(set, way);
    if (is_write(kind) && !exclusive(parent, line)) {
      ++parent->total().upgrades;
      make_exclusive(parent, line);
    }
  }
  return {settle(parent, child, is_write(kind), line).exclusive, false};
}

void ReferenceModel::read_memory(Access kind, uint64_t line) {
  ++memory_.reads;
  memory_accesses_.emplace_back(kind == Access::kPrefetch ? MemoryAccess::kPrefetch : MemoryAccess::kRead, line);
}

void ReferenceModel::write_memory(uint64_t line) {
  ++memory_.writes;
  memory_accesses_.emplace_back(MemoryAccess::kWrite, line);
}

ReferenceModel::Grant ReferenceModel::get_from_memory(Cache* child, Access kind, uint64_t line) {
  service_level_ = static_cast<uint32_t>(config_.levels.size()), supplier_ = nullptr;
  if (last_level_.size() == 1) {
    read_memory(kind, line);
    return {!child->write_through, false};
  }
  bool forwarded = false;
  if (config_.coherence == Coherence::kMesif) {
    for (Cache* other : last_level_)
      if (holds(other, line) && exclusive(other, line)) supplier_ = other, forwarded = true;
    Cache*& forwarder = forwarder_[line];
    if (!forwarded && forwarder != nullptr) {
      ++forwarder->total().clean_supplies;
      supplier_ = forwarder;
      forwarded = true;
    }
    forwarder = is_write(kind) ? nullptr : child;
  }
  const Settled settled = settle(nullptr, child, is_write(kind), line);
  if (!settled.supplied && !forwarded) read_memory(kind, line);
  return {settled.exclusive, false};
}

ReferenceModel::Grant ReferenceModel::get_from_not_inclusive(Cache* parent, Cache* child, uint32_t core, Access kind,
                                                             uint64_t line) {
  bool modified = false;  // the line leaves the array modified, or passes by so
  if (const ReferenceLine* mine = parent->find(line)) {
    const bool is_exclusive = parent->inclusion == Inclusion::kExclusive;
    modified = is_exclusive && is_dirty(mine->state);
    ReferenceSet& set = parent->array.set(line);
    for (size_t way = 0; way < set.ways.size(); ++way)
      if (set.ways[way] && set.ways[way]->number == line) parent->array.hit(set, way);
    if (is_exclusive) take_out(parent, line);
  } else if (any_child_holds(parent, line, nullptr) && config_.coherence != Coherence::kNone) {
    ++parent->total().supplied_by_children;
    service_level_ = parent->level;
    Cache* first = nullptr;
    bool counted_elsewhere = false;  // as an intervention
    for (Cache* other : parent->children) {
      if (!holds(other, line)) continue;
      if (first == nullptr) first = other;
      if (exclusive(other, line) || dirty(other, line)) counted_elsewhere = true;
    }
    if (!counted_elsewhere) ++first->total().clean_supplies;
    supplier_ = first;
  } else {
    const Grant grant = get(parent->parent, parent, core, kind, line);
    set_exclusive(parent, line, grant.exclusive);
    if (parent->inclusion == Inclusion::kExclusive)
      modified = grant.dirty;
    else
      place(parent, line, make_state(false, grant.dirty));
  }
  if (modified && child->side == Side::kInstruction) {
    write_back(parent, line);  // instruction caches take no modified data
    modified = false;
  }
  if (is_write(kind) && !exclusive(parent, line)) {
    ++parent->total().upgrades;
    make_exclusive(parent, line);
  }
  bool to_itself = settle(parent, child, is_write(kind), line).exclusive;
  if (modified && config_.coherence == Coherence::kMsi && exclusive(parent, line)) to_itself = true;
  return {to_itself, modified};
}

ReferenceModel::Settled ReferenceModel::settle(Cache* parent, Cache* child, bool write, uint64_t line) {
  if (parent != nullptr && parent->includes()) parent->visitors[line].insert(child);
  const bool may_be_alone =
      child->side != Side::kInstruction && !child->write_through && config_.coherence != Coherence::kMsi;
  if (config_.coherence == Coherence::kNone) return {write || may_be_alone, false};
  if (write) {
    const bool was_dirty = take_from_others(parent, child, line);
    if (was_dirty) supplier_ = last_modified_;
    return {true, was_dirty};
  }
  bool supplied = false;
  for (Cache* other : children_of(parent)) {
    if (other == child || !holds(other, line)) continue;
    if (exclusive(other, line)) {
      const bool was_dirty = make_shared(other, line);
      if (was_dirty && config_.coherence != Coherence::kMoesi) write_back(other, line);
      supplied |= was_dirty;
      if (was_dirty) supplier_ = other;
    } else if (dirty(other, line)) {
      ++other->total().interventions;
      ++other->total().dirty_interventions;
      supplied = true;
      supplier_ = other;
    }
  }
  return {may_be_alone && exclusive(parent, line) && !any_child_holds(parent, line, child), supplied};
}

bool ReferenceModel::take_from_others(Cache* parent, Cache* child, uint64_t line, bool always_merge, Loss why) {
  bool modified = false;
  for (Cache* other : children_of(parent)) {
    if (other == child || !holds(other, line)) continue;
    ++(parent == nullptr ? memory_.invalidations_sent : parent->total().invalidations_sent);
    if (!remove(other, line, why)) continue;
    modified = true;
    last_modified_ = other;
    const bool has_room = parent == nullptr || parent->includes() || parent->find(line) != nullptr;
    if (always_merge || (has_room && config_.coherence != Coherence::kMoesi)) write_back(other, line);
  }
  return modified;
}

// The domain of `cache` has the line, not to itself: the caches toward memory must be first.
void ReferenceModel::make_exclusive(Cache* cache, uint64_t line) {
  Cache* parent = cache->parent;
  snoop(parent);
  if (parent == nullptr) forwarder_[line] = nullptr;
  permission_level_ = parent == nullptr ? static_cast<uint32_t>(config_.levels.size()) : parent->level;
  if (!exclusive(parent, line)) {
    ++parent->total().upgrades;
    make_exclusive(parent, line);
  }
  take_from_others(parent, cache, line, false, Loss::kUpgrade);
  set_exclusive(cache, line, true);
}

// The line leaves the domain of `cache`. Returns whether it was modified there.
bool ReferenceModel::remove(Cache* cache, uint64_t line, Loss why) {
  CacheStatistics& total = cache->total();
  bool modified = false;
  for (Cache* child : cache->children) {
    if (!holds(child, line)) continue;
    if (why == Loss::kCoherence || why == Loss::kUpgrade) ++total.invalidations_sent;
    if (!remove(child, line, why)) continue;
    if (cache->includes()) {
      write_back(child, line);
    } else {
      ++child->total().write_backs_out;
      ++total.write_backs_in;
      modified = true;
    }
  }
  const ReferenceLine* mine = cache->find(line);
  if (mine != nullptr && is_dirty(mine->state)) modified = true;
  const bool alone = exclusive(cache, line);
  if (mine != nullptr) take_out(cache, line);
  cache->permission.erase(line);
  if (why == Loss::kCoherence || why == Loss::kUpgrade) {
    ++total.invalidations_received;
    if (alone || modified) ++total.interventions;
    if (modified && why == Loss::kCoherence) ++total.dirty_interventions;
  }
  if (why == Loss::kBackInvalidation) ++total.back_invalidations;
  if (why == Loss::kFlush) ++total.flushed_lines;
  return modified;
}

// Another cache wants to read what the domain of `cache` holds to itself. Returns whether it was modified.
bool ReferenceModel::make_shared(Cache* cache, uint64_t line) {
  const bool owned_state = config_.coherence == Coherence::kMoesi;
  bool modified = false;
  for (Cache* child : cache->children) {
    if (!holds(child, line) || !exclusive(child, line) || !make_shared(child, line)) continue;
    modified = true;
    if (owned_state) continue;
    if (cache->includes()) {
      write_back(child, line);
    } else {
      ++child->total().write_backs_out;
      ++cache->total().write_backs_in;
    }
  }
  modified = modified || dirty(cache, line);
  CacheStatistics& total = cache->total();
  ++total.downgrades;
  ++total.interventions;
  if (modified) ++total.dirty_interventions;
  ReferenceLine* mine = cache->find(line);
  if (!cache->includes()) {
    cache->permission[line] = false;
    if (mine != nullptr) mine->state = make_state(false, is_dirty(mine->state) && owned_state);
  } else {
    mine->state = make_state(false, modified && owned_state);
  }
  return modified;
}

void ReferenceModel::pass_write(Cache* child, uint32_t core, Access kind, uint64_t line, bool keeps) {
  ++child->total().writes_passed_on;
  Cache* parent = child->parent;
  snoop(parent);
  if (parent == nullptr) {
    service_level_ = static_cast<uint32_t>(config_.levels.size()), supplier_ = nullptr;
    write_memory(line);
    if (last_level_.size() > 1 && config_.coherence != Coherence::kNone) {
      take_from_others(nullptr, child, line, true);
      forwarder_[line] = nullptr;
    }
    return;
  }
  RequestStatistics& counts = parent->counts.by_core[core - parent->first_core];
  count(counts.accesses, kind);
  observe(parent, core, kind, line);
  if (parent->find(line) != nullptr) {
    service_level_ = parent->level, supplier_ = nullptr;
    ReferenceSet& set = parent->array.set(line);
    for (size_t way = 0; way < set.ways.size(); ++way)
      if (set.ways[way] && set.ways[way]->number == line) parent->array.hit(set, way);
    if (!parent->write_through && !exclusive(parent, line)) {
      ++parent->total().upgrades;
      make_exclusive(parent, line);
    }
    if (config_.coherence != Coherence::kNone) take_from_others(parent, child, line);
    if (parent->write_through)
      pass_write(parent, core, kind, line, true);
    else
      parent->find(line)->state = make_state(exclusive(parent, line), true);
  } else {
    count(counts.misses, kind);
    const bool fills = keeps || parent->write_allocate;
    if (parent->write_through || !fills) {
      pass_write(parent, core, kind, line, fills);
      if (fills) place(parent, line, State::kShared);
    } else {
      const Grant grant = get(parent->parent, parent, core, kind, line);
      place(parent, line, make_state(grant.exclusive, true));
    }
  }
  if (keeps) parent->visitors[line].insert(child);
}

// Into the array of `cache`. What is in the way leaves.
void ReferenceModel::place(Cache* cache, uint64_t line, State state) {
  ReferenceSet& set = cache->array.set(line);
  const size_t way = cache->array.choose(set);
  uint64_t victim = kNoLine;
  bool modified = false;
  if (set.ways[way]) {
    victim = set.ways[way]->number;
    ++cache->total().evictions;
    if (cache->includes())
      for (Cache* child : cache->children)
        if (holds(child, victim) && remove(child, victim, Loss::kBackInvalidation)) write_back(child, victim);
    modified = is_dirty(set.ways[way]->state);
    take_out(cache, victim);
  }
  set.ways[way] = ReferenceLine{line, state};
  cache->array.filled(set, way);
  if (victim == kNoLine) return;
  if (!holds(cache, victim))
    leave(cache, victim, modified);
  else if (modified)
    write_back(cache, victim);
}

void ReferenceModel::take_out(Cache* cache, uint64_t line) {
  ReferenceSet& set = cache->array.set(line);
  if (cache->includes() && cache->children.size() > 1) {
    cache->counts.sharing_degrees.resize(cache->children.size() + 1);
    ++cache->counts.sharing_degrees[cache->visitors[line].size()];
  }
  cache->visitors.erase(line);
  cache->total().prefetches_unused += cache->marks.erase(line);
  for (size_t way = 0; way < set.ways.size(); ++way)
    if (set.ways[way] && set.ways[way]->number == line) {
      cache->array.removed(set, way);
      set.ways[way].reset();
    }
}

// The domain of `cache` does not hold the line any more.
void ReferenceModel::leave(Cache* cache, uint64_t line, bool modified) {
  cache->permission.erase(line);
  Cache* parent = cache->parent;
  if (parent == nullptr && forwarder_[line] == cache) forwarder_[line] = nullptr;
  const bool last = parent != nullptr && !any_child_holds(parent, line, nullptr);
  if (parent != nullptr && parent->inclusion == Inclusion::kExclusive && last) {
    ++parent->total().victims_in;
    cache->total().write_backs_out += modified;
    parent->total().write_backs_in += modified;
    if (ReferenceLine* there = parent->find(line))
      there->state = make_state(false, modified || is_dirty(there->state));
    else
      place(parent, line, make_state(false, modified));
  } else if (modified) {
    write_back(cache, line);
  }
  if (parent != nullptr && !holds(parent, line)) leave(parent, line, false);
}

void ReferenceModel::write_back(Cache* cache, uint64_t line) {
  ++cache->total().write_backs_out;
  put_dirty(cache->parent, line);
}

void ReferenceModel::put_dirty(Cache* cache, uint64_t line) {
  if (cache == nullptr) {
    write_memory(line);
    return;
  }
  ++cache->total().write_backs_in;
  if (ReferenceLine* mine = cache->find(line))
    mine->state = make_state(is_exclusive(mine->state), true);
  else if (cache->inclusion == Inclusion::kNonInclusive)
    place(cache, line, make_state(false, true));
  else
    write_back(cache, line);
}

void ReferenceModel::flush(uint64_t line) {
  for (Cache* cache : last_level_)
    if (holds(cache, line) && remove(cache, line, Loss::kFlush)) write_back(cache, line);
  forwarder_[line] = nullptr;
}

Statistics ReferenceModel::statistics() const {
  Statistics result;
  for (const auto& cache : caches_) {
    if (result.levels.empty() || result.levels.back().level != cache->level + 1 ||
        result.levels.back().side != cache->side)
      result.levels.push_back({cache->name.substr(0, cache->name.rfind('.')), cache->level + 1, cache->side, {}, {}, {}});
    CacheInstanceStatistics counts = cache->counts;
    for (const RequestStatistics& r : counts.by_core) counts.total.requests += r;
    if (cache->includes() && cache->children.size() > 1) counts.sharing_degrees.resize(cache->children.size() + 1);
    result.levels.back().total += counts.total;
    result.levels.back().caches.push_back(counts);
  }
  result.cores = cores_;
  result.memory = memory_;
  for (const auto& [cores, lines] : transfers_) result.transfers.push_back({cores.first, cores.second, lines});
  return result;
}

}  // namespace simrun::sim
