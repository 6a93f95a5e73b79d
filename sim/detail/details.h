// Everything that is counted on request and needs to see each reference with its bytes and its maker: tables per line,
// per instruction and per thread, misses by class, lifetimes of lines. A Hierarchy that keeps details calls the hooks
// below; one that does not pays one predictable branch per miss.
//
// Hooks of one reference: begin(), then request() for each cache that it reaches, removed(), filled() and the others
// for what it causes anywhere, then end().
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/curves/mattson_stack.h"
#include "sim/detail/line_table.h"
#include "sim/detail/origin.h"
#include "sim/stats/cache_details.h"
#include "sim/vocabulary.h"

namespace simrun::sim {

// What one instruction, or one thread, did to the hierarchy.
struct OriginCounts {
  uint64_t fetches = 0, reads = 0, writes = 0, prefetches = 0;  // lines referenced
  std::array<uint64_t, kMaxLevels> misses{};                    // by level, from level 1
  LatencyCycles latency;
  SharingCounts sharing;
  OriginCounts& operator+=(const OriginCounts& o);
  bool operator==(const OriginCounts&) const = default;
};

struct PcKey {
  uint32_t process = 0;
  uint64_t pc = 0;
  bool operator==(const PcKey&) const = default;
};

struct PcKeyHash {
  size_t operator()(const PcKey& key) const {
    return (key.pc ^ uint64_t{key.process} << 48) * 0x9e3779b97f4a7c15u >> 7;
  }
};

using PcTable = std::unordered_map<PcKey, OriginCounts, PcKeyHash>;

// What Details needs to know of each cache, by its number in the tree.
struct CacheFacts {
  uint32_t level = 0;          // from 0
  uint64_t lines = 0;          // capacity
  uint32_t parent = kNoCache;  // toward memory; kNoCache: memory itself

  static constexpr uint32_t kNoCache = ~0u;
};

// Cycles from a core's request to the answer of each level, the last: memory.
struct AnswerLatencies {
  std::array<uint32_t, kMaxLevels + 1> fetches{}, data{};
  uint32_t transfer = 0;  // more, when another cache hands the line over
};

class Details {
 public:
  // `paths[2 * core + is_data]`: the caches that a reference of a core goes through, from level 1 on.
  // `is_coherent`: what a core writes leaves the caches that are not behind it.
  Details(uint32_t line_bytes, std::vector<CacheFacts> caches, std::vector<std::vector<uint32_t>> paths, bool is_coherent,
          const AnswerLatencies& latencies);

  const LineTable& lines() const { return lines_; }
  // Null: nobody. It must outlive this.
  void tell_of_sites(SiteObserver* observer) { site_observer_ = observer; }
  const PcTable& pcs() const { return pcs_; }
  const std::vector<OriginCounts>& threads() const { return threads_; }  // by thread
  const CacheDetails& of_cache(uint32_t cache) const { return caches_[cache].counts; }
  const MissClasses& classes(uint32_t cache) const { return of_cache(cache).classes; }
  const LifetimeStatistics& lifetimes(uint32_t cache) const { return of_cache(cache).lifetimes; }

  // The process has ended: when there are more than kMostInstructionsKept, only those of its instructions stay that missed.
  static constexpr size_t kMostInstructionsKept = size_t{1} << 18;
  void forget_process(uint32_t process);

  void begin(uint32_t core, Access kind, uint64_t line, uint32_t offset, uint32_t bytes, const Origin& origin);
  void request(uint32_t cache, bool hit) { reached_[reached_count_++] = {cache, hit, false}; }
  // The miss that was told of last was answered by a cache nearer the core.
  void supplied_by_children() { reached_[reached_count_ - 1].by_children = true; }
  void filled(uint32_t cache, uint64_t line);
  void removed(uint32_t cache, uint64_t line, Loss why);
  // Level 1 did not have what was asked for; `level` (from 0; behind the last: memory) did, or found another cache that did.
  void answered(uint32_t level, bool handed_over) {
    latency_.add(kind_, (kind_ == Access::kFetch ? latencies_.fetches : latencies_.data)[level] + (handed_over ? latencies_.transfer : 0));
  }
  // `level` had the permission that level 1 did not have.
  void permitted(uint32_t level) { latency_.writes += latencies_.data[level]; }
  void upgraded(uint32_t cache) { upgraded_ |= caches_[cache].facts.level == 0; }
  void supplied_modified() { supplied_modified_ = true; }
  void end();

 private:
  // One cache's history with one line.
  struct View {
    uint32_t cache = 0, level = 0;
    MattsonStack::Line in_stack = MattsonStack::kNoLine;
    bool held = false;        // the line is here
    bool is_pending = false;  // a coherence miss that no touch has made true yet
    Loss lost = Loss::kEvicted;
    uint32_t hits = 0;
    uint64_t filled_at = 0;
    uint64_t first_held_at = ~uint64_t{0};  // the reference since which the cache, or one nearer the core, has had it
    ByteMask foreign;                       // bytes that others wrote since this cache's last essential miss
    // Who made the pending miss.
    uint32_t thread = 0, use = LineTable::kNoSite, site = LineTable::kNoSite;
    OriginCounts* pc = nullptr;
  };
  struct CacheState {
    CacheFacts facts;
    // Its requests in a fully associative LRU stack: what tells capacity misses from conflicts (Hill and Smith, IEEE
    // ToC 1989), and the reuse distances.
    MattsonStack stack;
    CacheDetails counts;
  };
  struct Line {
    LineRecord* record;
    std::vector<View> views;
  };
  struct Reached {
    uint32_t cache;
    bool hit, by_children;
  };

  // Direct-mapped, in front of the tables, whose elements do not move: where most references find theirs.
  struct RecentLine {
    uint64_t line = kNoLine;
    Line* state = nullptr;
  };
  struct RecentPc {
    PcKey key;
    OriginCounts* counts = nullptr;
  };
  static constexpr size_t kRecent = 4096;

  Line& line_state(uint64_t line) {
    const RecentLine& recent = recent_lines_[line % kRecent];
    return recent.line == line ? *recent.state : find_line(line);
  }
  Line& find_line(uint64_t line);
  OriginCounts& counts_of(const PcKey& key);
  static View* find_view(Line& state, uint32_t cache) {
    for (View& view : state.views)
      if (view.cache == cache) return &view;
    return nullptr;
  }
  View& view_of(Line& state, uint32_t cache) {
    View* const view = find_view(state, cache);
    return view != nullptr ? *view : add_view(state, cache);
  }
  View& add_view(Line& state, uint32_t cache);
  void take_request(Line& state, const Reached& reached);
  void take_costs(Line& state);
  void take_miss(View& view, CacheState& cache, bool by_children, uint64_t distance);
  void lose(View& view, Loss why);
  void take_out_of_stack(View& view);
  void lose_in_parents(Line& state, uint32_t cache, Loss why);
  void become_true(Line& state, View& view);
  template <class Add>
  void for_each_counter(Line& state, const View& view, Add add);

  uint32_t line_bytes_;
  bool is_coherent_;
  AnswerLatencies latencies_;
  std::vector<CacheState> caches_;
  std::vector<std::vector<uint32_t>> paths_;
  LineTable lines_;
  SiteObserver* site_observer_ = nullptr;
  PcTable pcs_;
  std::unordered_map<uint32_t, std::vector<uint64_t>> pcs_of_;  // by process: of which there are counts
  std::vector<OriginCounts> threads_;
  std::unordered_map<uint64_t, Line> states_;
  std::vector<RecentLine> recent_lines_;  // by line, modulo kRecent
  std::vector<RecentPc> recent_pcs_;      // by hash
  uint64_t now_ = 0;  // lines accessed so far

  // The reference under way.
  uint32_t port_ = 0, offset_ = 0, bytes_ = 0;
  Access kind_ = Access::kLoad;
  uint64_t line_ = kNoLine;
  Origin origin_;
  ByteMask mask_;
  OriginCounts* pc_ = nullptr;
  LineTable::Place place_{};
  bool upgraded_ = false, supplied_modified_ = false, is_coherence_miss_ = false;
  std::array<bool, kMaxLevels> missed_{};
  LatencyCycles latency_;
  std::array<Reached, kMaxLevels> reached_{};
  uint32_t reached_count_ = 0;
};

}  // namespace simrun::sim
