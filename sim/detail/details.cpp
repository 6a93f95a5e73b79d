#include "sim/detail/details.h"

#include <algorithm>

#include "base/check.h"

namespace simrun::sim {

namespace {

void count_kind(OriginCounts& counts, Access kind) {
  if (is_write(kind))
    ++counts.writes;
  else if (kind == Access::kFetch)
    ++counts.fetches;
  else if (kind == Access::kPrefetch)
    ++counts.prefetches;
  else
    ++counts.reads;
}

}  // namespace

OriginCounts& OriginCounts::operator+=(const OriginCounts& o) {
  fetches += o.fetches, reads += o.reads, writes += o.writes, prefetches += o.prefetches;
  for (size_t level = 0; level < misses.size(); ++level) misses[level] += o.misses[level];
  latency += o.latency;
  sharing += o.sharing;
  return *this;
}

Details::Details(uint32_t line_bytes, std::vector<CacheFacts> caches, std::vector<std::vector<uint32_t>> paths, bool is_coherent,
                 const AnswerLatencies& latencies)
    : line_bytes_(line_bytes), is_coherent_(is_coherent), latencies_(latencies), paths_(std::move(paths)), recent_lines_(kRecent), recent_pcs_(kRecent) {
  for (const CacheFacts& facts : caches) {
    CHECK(facts.level < kMaxLevels);
    caches_.push_back({facts, {}, {}});
  }
}

Details::Line& Details::find_line(uint64_t line) {
  Line& state = states_[line];
  if (state.record == nullptr) state.record = &lines_[line];
  recent_lines_[line % kRecent] = {line, &state};
  return state;
}

OriginCounts& Details::counts_of(const PcKey& key) {
  RecentPc& recent = recent_pcs_[PcKeyHash()(key) % kRecent];
  if (recent.counts != nullptr && recent.key == key) [[likely]]
    return *recent.counts;
  const auto [at, is_new] = pcs_.try_emplace(key);
  if (is_new) pcs_of_[key.process].push_back(key.pc);
  recent = {key, &at->second};
  return at->second;
}

// Children of a fork mostly execute what the caches hold: such counts, wanted for sums over functions only, would be there for each process that
// ever was.
void Details::forget_process(uint32_t process) {
  if (pcs_.size() < kMostInstructionsKept) return;
  const auto pcs = pcs_of_.find(process);
  if (pcs == pcs_of_.end()) return;
  for (RecentPc& recent : recent_pcs_)
    if (recent.key.process == process) recent = {};
  for (const uint64_t pc : pcs->second) {
    const auto counts = pcs_.find({process, pc});
    if (counts->second.misses == decltype(OriginCounts::misses){} && counts->second.sharing == SharingCounts{})
      pcs_.erase(counts);
  }
  pcs_of_.erase(pcs);
}

Details::View& Details::add_view(Line& state, uint32_t cache) {
  View& view = state.views.emplace_back();
  view.cache = cache, view.level = caches_[cache].facts.level;
  return view;
}

void Details::begin(uint32_t core, Access kind, uint64_t line, uint32_t offset, uint32_t bytes, const Origin& origin) {
  port_ = 2 * core + (kind != Access::kFetch);
  kind_ = kind, line_ = line, offset_ = offset, bytes_ = bytes, origin_ = origin;
  reached_count_ = 0;
  upgraded_ = supplied_modified_ = is_coherence_miss_ = false;
  missed_ = {}, latency_ = {};
  ++now_;
}

void Details::end() {
  if (kind_ == Access::kFlush) {
    if (const auto flushed = states_.find(line_); flushed != states_.end())
      for (View& view : flushed->second.views) take_out_of_stack(view);
    return;
  }
  Line& state = line_state(line_);
  mask_ = ByteMask::of(offset_, bytes_, line_bytes_);
  place_ = lines_.add(*state.record, origin_, kind_, offset_, bytes_, mask_);
  if (site_observer_ != nullptr && place_.site != LineTable::kNoSite &&
      state.record->sites[place_.site].references == 1)
    site_observer_->new_site(*state.record, place_.site);
  pc_ = &counts_of({origin_.process, origin_.pc});
  if (origin_.thread >= threads_.size()) threads_.resize(origin_.thread + 1);
  count_kind(*pc_, kind_);
  count_kind(threads_[origin_.thread], kind_);
  for (uint32_t i = 0; i < reached_count_; ++i) take_request(state, reached_[i]);
  const std::vector<uint32_t>& path = paths_[port_];
  for (View& view : state.views) {
    if (path[view.level] != view.cache) {
      if (!is_write(kind_)) continue;
      view.foreign |= mask_;
      if (is_coherent_) take_out_of_stack(view);
    } else if (kind_ != Access::kPrefetch && view.foreign.overlaps(mask_)) {
      view.foreign = {};
      if (view.is_pending) become_true(state, view);
    }
  }
  take_costs(state);
}

void Details::take_costs(Line& state) {
  if (latency_ != LatencyCycles{}) {
    pc_->latency += latency_;
    threads_[origin_.thread].latency += latency_;
    state.record->latency += latency_;
  }
  const bool missed = missed_ != decltype(missed_){};
  if (site_observer_ != nullptr && (missed || upgraded_))
    site_observer_->missed({*state.record, offset_, place_.site, kind_, missed_, is_coherence_miss_, upgraded_, latency_});
  if (!upgraded_ && !supplied_modified_) return;
  View self;
  self.thread = origin_.thread, self.use = place_.thread, self.site = place_.site, self.pc = pc_;
  for_each_counter(state, self, [&](SharingCounts& counts) {
    counts.upgrades += upgraded_;
    counts.dirty_transfers += supplied_modified_;
  });
}

// Calls add(SharingCounts&) for everything that the maker of `view`'s miss is counted under.
template <class Add>
void Details::for_each_counter(Line& state, const View& view, Add add) {
  add(state.record->sharing);
  add(view.pc->sharing);
  add(threads_[view.thread].sharing);
  if (view.use != LineTable::kNoSite) add(state.record->threads[view.use].sharing);
  if (view.site != LineTable::kNoSite) add(state.record->sites[view.site].sharing);
}

void Details::take_request(Line& state, const Reached& reached) {
  CacheState& cache = caches_[reached.cache];
  View& view = view_of(state, reached.cache);
  if (view.in_stack == MattsonStack::kNoLine) view.in_stack = cache.stack.add_line();
  const uint64_t distance = cache.stack.access(view.in_stack);
  ReuseStatistics& reuse = cache.counts.reuse;
  if (distance == MattsonStack::kFirst)
    ++reuse.first;
  else if (distance == MattsonStack::kTakenAway)
    ++reuse.taken_away;
  else
    reuse.by_distance.add(distance);
  if (reached.hit) {
    ++view.hits;
    return;
  }
  ++pc_->misses[cache.facts.level];
  ++threads_[origin_.thread].misses[cache.facts.level];
  ++state.record->misses[cache.facts.level];
  missed_[cache.facts.level] = true;
  take_miss(view, cache, reached.by_children, distance);
  if (!view.is_pending) {
    view.foreign = {};  // whatever the reason of this miss, it brought everything up to date
  } else if (cache.facts.level == 0) {
    is_coherence_miss_ = true;
    for_each_counter(state, view, [](SharingCounts& counts) { ++counts.false_sharing; });
  }
}

void Details::take_miss(View& view, CacheState& cache, bool by_children, uint64_t distance) {
  MissClasses& classes = cache.counts.classes;
  view.is_pending = false;
  if (by_children || view.first_held_at >= now_) {  // this very reference may have brought it
    ++(by_children ? classes.supplied_by_children : classes.compulsory);
    return;
  }
  switch (view.lost) {
    case Loss::kEvicted:
    case Loss::kMoved:  // and then the caches above it dropped it
      ++(distance < cache.facts.lines ? classes.conflict : classes.capacity);
      return;
    case Loss::kBackInvalidation:
      ++classes.inclusion;
      return;
    case Loss::kFlush:
      ++classes.flushed;
      return;
    case Loss::kCoherence:
    case Loss::kUpgrade:
      ++classes.false_sharing;
      view.is_pending = true;
      view.thread = origin_.thread, view.use = place_.thread, view.site = place_.site, view.pc = pc_;
      return;
  }
}

void Details::become_true(Line& state, View& view) {
  CacheState& cache = caches_[view.cache];
  view.is_pending = false;
  --cache.counts.classes.false_sharing;
  ++cache.counts.classes.true_sharing;
  if (cache.facts.level != 0) return;
  for_each_counter(state, view, [](SharingCounts& counts) {
    --counts.false_sharing;
    ++counts.true_sharing;
  });
}

void Details::filled(uint32_t cache, uint64_t line) {
  View& view = view_of(line_state(line), cache);
  view.held = true;
  view.filled_at = now_;
  view.first_held_at = std::min(view.first_held_at, now_);
  view.hits = 0;
}

void Details::lose(View& view, Loss why) {
  view.lost = why;
  view.is_pending = false;
}

// Whether the cache has the line or had it replaced: reuse distances are of its requests alone.
void Details::take_out_of_stack(View& view) {
  if (view.in_stack != MattsonStack::kNoLine) caches_[view.cache].stack.invalidate(view.in_stack);
}

// A cache that does not include those nearer the core has lost a line that only they had: when they lose it to a write
// of a core that is not behind it, to a flush, or to a cache further on.
void Details::lose_in_parents(Line& state, uint32_t cache, Loss why) {
  for (uint32_t parent = caches_[cache].facts.parent; parent != CacheFacts::kNoCache;
       parent = caches_[parent].facts.parent) {
    if (is_invalidation(why) && paths_[port_][caches_[parent].facts.level] == parent) return;
    View* view = find_view(state, parent);
    if (view == nullptr) continue;
    if (view->held) return;
    view->first_held_at = std::min(view->first_held_at, now_);
    lose(*view, why);
  }
}

void Details::removed(uint32_t cache, uint64_t line, Loss why) {
  Line& state = line_state(line);
  View& view = view_of(state, cache);
  view.held = false;
  lose(view, why);
  if (why != Loss::kEvicted && why != Loss::kMoved) lose_in_parents(state, cache, why);
  LifetimeStatistics& l = caches_[cache].counts.lifetimes;
  const uint32_t hits = view.hits + (why == Loss::kMoved);  // the request that takes it along is counted when it is gone
  ++l.lines;
  l.unused += hits == 0;
  l.references += now_ - view.filled_at;
  l.hits += hits;
  l.by_lifetime.add(now_ - view.filled_at);
  l.by_hits.add(hits);
}

}  // namespace simrun::sim
