// The caches of a machine as a tree with memory at its root, kept coherent: everything that happens behind a hit in
// level 1. docs/cache-model.md defines the protocols and what is counted where.
//
// "Parent" is toward memory, "child" toward the core. The *domain* of a cache is the cache and all above it (nearer the
// core). Each cache has a directory of its domain: an entry for each line that the domain holds, naming the children
// whose domains hold it. A cache that includes its children has the entries in its own slots; another has a
// LineDirectory beside the array, whose entries know the slot of the line, if the array has it. Memory has a
// LineDirectory when it has more than one child. Invariants, checked by check_invariants():
//   - the sharer bits of an entry name exactly the children whose domains hold the line, and those have it as parent
//     slot;
//   - a domain holds a line exclusively only if its parent's does and no other child holds it (owned_by_child);
//   - an exclusive cache holds no line that its children hold.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/build/machine_config.h"
#include "sim/cache/cache.h"
#include "sim/coherence/line_directory.h"
#include "sim/detail/details.h"
#include "sim/prefetch/prefetch_unit.h"

namespace simrun::sim {

using NodeId = uint32_t;  // of a cache; children have lower numbers than their parents
inline constexpr NodeId kMemory = ~NodeId{0};

// Which part of a machine's sets is simulated (sim/parallel/sliced_model.h).
struct Slice {
  uint32_t count = 1;
  uint32_t number = 0;
};

class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  virtual void request(uint32_t level, Side side, uint32_t core, Access kind, uint64_t line) = 0;
};

// What the caches ask of memory. kPrefetch: a read for a prefetcher or a prefetch instruction.
enum class MemoryAccess : uint8_t { kRead, kPrefetch, kWrite };

class MemoryObserver {
 public:
  virtual ~MemoryObserver() = default;
  // `line`: a frame's where addresses are translated. Reads come before the write-backs of what leaves for them.
  virtual void memory_access(MemoryAccess access, uint64_t line) = 0;
};

class CoherentTree {
 public:
  // `config` must have passed find_problem() (sim/build/validate_machine.h).
  // Of a slice it holds the lines whose number is slice.number modulo slice.count, by number / count.
  explicit CoherentTree(const MachineConfig& config, Slice slice = {});

  // A cache and its place in the tree.
  struct Node {
    NodeId parent;          // kMemory for the last level
    uint32_t child_number;  // among its parent's children
    std::vector<NodeId> children;
    uint32_t level;  // 0 is nearest the core
    Side side;
    uint32_t first_core, cores;
    Inclusion inclusion = Inclusion::kInclusive;
    bool write_through = false;
    bool write_allocate = true;
    bool prefetches = false;
    bool plain = false;  // its misses can go by miss_plain()
    bool gives_exclusive = false;  // a line that nobody else has comes to it exclusively, also for a read

    bool holds_directory() const { return inclusion == Inclusion::kInclusive; }
  };

  // Where the last miss() of level 1 was answered: by the array of a level, by memory, or there by another child.
  struct Service {
    uint32_t level;   // from 0; size of the machine's levels: memory
    NodeId supplier;  // a cache that handed over the line instead of that level; kMemory: none did
  };

  struct Request {
    uint32_t core;
    Access kind;
    uint64_t line;
  };

  // The caches that a core's fetches or data meet, from level 1 on.
  struct Step {
    Cache* cache = nullptr;
    RequestCounters* requests = nullptr;  // of the core
    NodeId node = kMemory;
    uint32_t child_number = 0;
    bool plain = false, gives_exclusive = false;
  };
  struct Way {
    uint32_t levels = 0;
    std::array<Step, kMaxLevels> steps;
  };

  // The same of a machine whose misses can go by miss_lru(): what the host looks at first, in one place.
  struct LruStep {
    uint8_t* blocks = nullptr;
    uint64_t set_mask = 0;
    const uint64_t* narrow_tags = nullptr;
    uint32_t* upper_tags = nullptr;
    Cache* cache = nullptr;
    uint32_t set_shift = 0;
    uint8_t child_bit = 0;  // of this cache, at its parent
    bool gives_exclusive = false;
    uint32_t child_number = 0;
    NodeId node = kMemory;
    mutable uint64_t write_backs = 0;  // modified lines that were replaced: count_answered() says where
    RequestCounters* requests = nullptr;
    uint64_t* sharing_degrees = nullptr;  // null: not counted
  };
  struct LruWay {
    // Of all levels behind the first; 0: there is no level 3, or level 2 neither: miss_lru() is not for this machine.
    uint32_t ways_of_level2 = 0, ways_of_level3 = 0;
    Cache::Recent* recent = nullptr;
    Cache::Guess* guesses = nullptr;
    uint64_t guess_mask = 0;
    uint64_t* clock = nullptr;
    // Of lru_way_to_level2(): the lines of level 2 that prefetchers see when they are used; null: none.
    const uint8_t* marked_in_level2 = nullptr;
    bool level2_has_parent = true;
    Slot (CoherentTree::*miss_near)(const LruWay& way, const Request& request) = nullptr;
    // The bytes of the states of a line that all levels missed, by is_write().
    struct Fresh {
      uint8_t level1, level2, level3;
    };
    std::array<Fresh, 2> fresh = {};
    std::array<LruStep, 4> steps;  // the last: memory
  };
  // Who answered a miss: a level, from 0, or memory; whether a cache handed the line over, which service() names; of
  // take_lru(), where it is in level 1.
  struct Answer {
    uint32_t level;
    bool handed_over;
    Slot slot = kNoSlot;
  };

  // The level-1 cache of a core; `side` is kInstruction or kData (the same cache when level 1 is unified).
  NodeId level1(uint32_t core, Side side) const;
  Cache& cache(NodeId node) { return caches_[node]; }
  const Cache& cache(NodeId node) const { return caches_[node]; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }
  size_t roots() const { return roots_.size(); }  // caches of the last level

  // A reference of `core` missed in the level-1 cache `node`: brings the line there, with permission for `kind`.
  // Returns its slot, or kNoSlot when the cache does not take lines for writes.
  Slot miss(NodeId node, uint32_t core, Access kind, uint64_t line);
  // A write of `core` found the line in `slot` of `node`, not Modified: makes it Modified, or passes the write on.
  // Returns whether it was an upgrade.
  bool write_hit(NodeId node, Slot slot, uint32_t core, Access kind);
  // The same, and allocate(), for a cache whose Node is plain, when nobody_watches(): all levels in one function, and
  // no step that has nothing to do there. It counts and leaves what the general way does. `from`: the level that
  // misses.
  Slot miss_plain(const Way& way, uint32_t from, uint32_t core, Access access, uint64_t line);
  // The same for the usual machine (lru_miss.h): `line` is not in level 1, but found in a way of level 2, or not there
  // either.
  template <uint32_t kWays2, uint32_t kWays3>
  Answer take_lru(const LruWay& way, Access access, uint64_t line, size_t found);
  template <uint32_t kWays2, uint32_t kWays3>
  Answer fetch_lru(const LruWay& way, Access access, uint64_t line);
  LruWay lru_way(uint32_t core, Side side);
  // Of its first two levels alone, for take_lru() and miss_near(): level 2 includes level 1, whatever lies behind and whoever prefetches.
  LruWay lru_way_to_level2(uint32_t core, Side side);
  // From now on misses of level 1 that `way` is of, if of any, go by miss_near(). It must outlive this.
  void go_near(const LruWay& way);
  static void count_answered(const LruWay& way, Access access, uint32_t level, uint64_t misses);
  static void count_write_backs(const LruWay& way);
  const Way& way(uint32_t core, Side side) const { return ways_[2 * core + (side != Side::kInstruction)]; }
  bool nobody_watches() const { return details_ == nullptr && request_observer_ == nullptr && memory_observer_ == nullptr; }
  const Service& service() const { return service_; }
  // The level that had the permission which the last upgrade asked for; size of the machine's levels: memory.
  uint32_t permission_level() const { return permission_level_; }
  // The clock of a core: the accesses of level 1 so far, counted here by kind, less those that come later. Added up only
  // when somebody asks, until the end of an access.
  struct Clock {
    const uint64_t* fetches = nullptr;
    const uint64_t* data = nullptr;
    uint64_t ahead = 0;
  };
  // Prefetching: the address of the instruction that makes the next references, and the clock of its core.
  void set_pc(uint64_t pc) { pc_ = pc; }
  uint64_t pc() const { return pc_; }
  void set_clock(const Clock& clock) { clock_ = clock; }
  // Level 1: a reference arrives and finds the line in `slot` or not. Further levels see theirs by themselves.
  void observe_level1(NodeId node, uint32_t core, Access kind, uint64_t line, Slot slot) {
    observe(node, {core, kind, line}, slot);
  }
  // The line in `slot` of a cache with prefetchers was brought by one, and not used since. In level 1 it is closed.
  bool is_marked(NodeId node, Slot slot) const { return prefetch_units_[node]->marked[slot] != 0; }
  // What the prefetchers wanted during the last access; to be called when that is finished.
  bool wants_prefetches() const { return !wanted_.empty(); }
  void prefetch_wanted();
  // Null unless the cache has prefetchers.
  PrefetchUnit* prefetch_unit(NodeId node) { return prefetch_units_[node].get(); }
  const PrefetchUnit* prefetch_unit(NodeId node) const { return prefetch_units_[node].get(); }
  // The line leaves every cache.
  void flush(uint64_t line);

  const MemoryStatistics& memory() const { return memory_; }
  // Null, or who wants to know of everything; must outlive this.
  void tell(Details* details) { details_ = details; }
  // Null, or who wants to know of the requests that reach the levels behind level 1; must outlive this.
  void tell_of_requests(RequestObserver* observer) { request_observer_ = observer; }
  // Null, or who wants to know of what reaches memory; must outlive this. Not of a slice.
  void tell_of_memory(MemoryObserver* observer) { memory_observer_ = observer; }
  bool check_invariants(std::string* why) const;

  // The contents of all caches, directories and prefetchers.
  void archive(StateArchive& a) {
    for (Cache& cache : caches_) cache.archive(a);
    for (LineDirectory& directory : directories_) directory.archive(a);
    memory_directory_.archive(a);
    for (const auto& unit : prefetch_units_)
      if (unit != nullptr) unit->archive(a);
  }

 private:
  struct Grant {
    bool exclusive;
    bool dirty;  // the data is newer than the next level's, and whoever takes it answers for it
    Slot slot;   // of the line in the granting directory
  };
  // What it took to note a child as a sharer: the permission it gets; whether another child supplied modified data.
  struct Sharing {
    bool exclusive;
    bool supplied;
  };
  // What becomes of the modified data of a line that leaves a child or is downgraded there.
  enum class Data : uint8_t {
    kMerge,        // the parent takes it
    kHandOver,     // the cache that asks takes it
    kPassThrough,  // it is on its way to the parent's parent
  };
  static constexpr uint32_t kNobody = ~uint32_t{0};

  void build_nodes(const MachineConfig& config);
  void build_caches(const MachineConfig& config, Slice slice);
  void build_ways();
  bool directory_at_memory() const { return roots_.size() > 1; }
  const std::vector<NodeId>& children_of(NodeId parent) const {
    return parent == kMemory ? roots_ : nodes_[parent].children;
  }
  // Calls f with the directory of `node`: a Cache or a LineDirectory.
  template <class F>
  auto with_directory(NodeId node, F f);
  LineDirectory& line_directory(NodeId node) { return node == kMemory ? memory_directory_ : directories_[node]; }
  Slot entry_of(NodeId node, uint64_t line) const;
  // The domain of `node` holds the line in `entry` and its data is newer than the parent's.
  bool is_domain_dirty(NodeId node, Slot entry) const;

  // Requests (coherent_tree.cpp).
  // A child misses: make the parent's domain hold the line with the permission asked for, note the child as a sharer.
  Grant serve(NodeId parent, uint32_t child_number, const Request& request);
  Grant serve_from_memory(uint32_t child_number, const Request& request);
  Grant serve_tracked(NodeId parent, uint32_t child_number, const Request& request);
  Grant fetch_tracked(NodeId node, const Request& request, Slot& entry);
  bool fetch_fresh(NodeId node, uint32_t child_number, const Request& request, Grant& grant);
  Grant take_from_exclusive(NodeId node, Slot entry);
  void write_back_and_keep(NodeId node, Slot entry);
  // Fetches the line into `node`, which holds its directory, from its parent. Returns its slot.
  Slot allocate(NodeId node, const Request& request);
  // Of miss_plain().
  Slot put_plain(const Step& step, Cache* parent, uint64_t line, State state, Slot parent_slot);
  // Of miss_lru().
  bool add_lru_step(LruWay& way, uint32_t level, const Step& step);
  template <class Block>
  bool share(const LruStep& step, const LruStep& parent, Block block, size_t way, Slot slot, bool write,
             Answer& answer);
  template <class Block>
  void use(const LruStep& step, Block block, size_t way, Slot slot, bool write);
  template <class Block, class Leave>
  bool make_room(const LruStep& step, Block block, size_t way, Slot slot, Leave leave);
  bool make_room_rarely(const LruStep& step, uint32_t visitors, Slot slot);
  template <class Block>
  void put_lru(const LruStep& step, Block block, size_t way, Slot slot, uint64_t tag, uint8_t state, uint8_t child);
  template <uint32_t kWays2, uint32_t kWays3>
  Slot put_in_level1(const LruWay& way, Access access, uint64_t line, Slot above, uint8_t state, size_t victim);
  // A miss that the array of the next level answers, while nobody watches that and its prefetchers do not want to see
  // it. kNoSlot: it is another one, and nothing has changed.
  Slot take_from_parent(NodeId node, const Request& request);
  Slot take_from_tracked(NodeId node, const Request& request);
  // A miss of level 1 where two levels are as in the usual machine (lru_way_to_level2()), all of it; nobody watches.
  template <uint32_t kWays2, bool kHasParent>
  Slot miss_near(const LruWay& way, const Request& request);
  template <uint32_t kWays2, bool kHasParent>
  Slot make_room_in_level2(const LruStep& two, uint64_t set);
  void prefetch_for_miss(NodeId node, uint64_t line);
  // Puts a line into the array of `node`; evicts what is in the way. Returns its slot.
  Slot place(NodeId node, uint64_t line, State state, Slot parent_slot);
  Slot place_at_once(NodeId node, uint64_t line, State state, Slot parent_slot);
  Slot place_tracked(NodeId node, uint64_t line, State state, Slot entry);
  void place_data(NodeId node, Slot entry, bool dirty);
  // The domain of `node` holds the line, but not exclusively: takes it from every cache outside.
  void obtain_exclusive(NodeId node, Slot entry);
  template <class Directory>
  void take_from_siblings(Directory& directory, NodeId parent, Slot slot, uint32_t child);
  template <class Directory>
  Sharing add_sharer(Directory& directory, NodeId parent, Slot slot, uint32_t child, bool write);
  template <class Directory>
  Sharing add_sharer_beside(Directory& directory, NodeId parent, Slot slot, uint32_t child, bool write, bool gives);
  // What a write does with the modified data of the children of `parent` that lose the line.
  Data data_of_losers(NodeId parent, Slot slot);
  template <class Directory>
  bool supply_from_owned(Directory& directory, NodeId parent, Slot slot);

  // Prefetching (prefetch.cpp).
  struct Wanted {
    NodeId node;
    uint32_t core;
    uint64_t line;
  };
  void build_prefetchers(const MachineConfig& config);
  void observe(NodeId node, const Request& request, Slot slot);
  uint64_t clock() const;
  void prefetch_line(const Wanted& wanted);
  void show_request(NodeId node, const Request& r) {
    if (request_observer_ != nullptr) [[unlikely]]
      request_observer_->request(nodes_[node].level, nodes_[node].side, r.core, r.kind, r.line);
  }
  // Who is to be told of the request under way; nobody of a prefetch.
  Details* details_of_request() const { return prefetching_ ? nullptr : details_; }

  // Writes that a cache does not keep to itself (pass_writes.cpp). `keeps`: the child holds the line afterwards.
  Slot pass_write(NodeId child, const Request& request, bool keeps);
  Slot pass_write_to_memory(uint32_t child_number, const Request& request, bool keeps);
  Slot take_passed_write(NodeId node, Slot slot, const Request& request, uint32_t child_number, bool keeps);

  // Lines that leave or lose permission (lose_lines.cpp).
  // Takes the line from all children but `keep_child` (kNobody: from all). Returns whether one had it modified.
  template <class Directory>
  bool remove_from_children(Directory& directory, NodeId parent, Slot slot, uint32_t keep_child, Loss reason,
                            Data data);
  // One child holds the line exclusively: no longer. Returns whether it was modified.
  template <class Directory>
  bool downgrade_owner(Directory& directory, NodeId parent, Slot slot, Data data);
  // The line leaves the domain of `node`. Returns whether it was modified there; the caller takes the data.
  bool remove_domain(NodeId node, uint64_t line, Loss reason);
  bool downgrade_domain(NodeId node, uint64_t line);
  void evict(NodeId node, Slot slot);
  void evict_tracked(NodeId node, Slot slot);
  // The array of `node` does not have the line of an entry of its directory any more.
  void leave_array(NodeId node, Slot entry, uint64_t line, bool dirty);
  // The last copy has left the domain of `node`; `above` is its entry at the parent.
  void leave_domain(NodeId node, Slot above, uint64_t line, bool dirty);
  void leave_to_memory(NodeId node, Slot above, uint64_t line, bool dirty);
  void leave_to_tracked(NodeId node, Slot above, uint64_t line, bool dirty);
  // Modified data of `child` goes to its parent, which has the line in `slot`.
  void write_back(NodeId child, Slot slot, uint64_t line) {
    ++caches_[child].events.write_backs_out;
    put_dirty(nodes_[child].parent, slot, line);
  }
  void put_dirty(NodeId node, Slot slot, uint64_t line);
  void read_memory(const Request& r) {
    ++memory_.reads;
    if (memory_observer_ == nullptr) [[likely]]
      return;
    memory_observer_->memory_access(r.kind == Access::kPrefetch ? MemoryAccess::kPrefetch : MemoryAccess::kRead, r.line);
  }
  void write_memory(uint64_t line) {
    ++memory_.writes;
    if (memory_observer_ != nullptr) [[unlikely]]
      memory_observer_->memory_access(MemoryAccess::kWrite, line);
  }
  void count_loss(NodeId node, Loss reason, bool exclusive, bool dirty);
  void forget_array_line(NodeId node, Slot slot, Loss reason);
  void count_invalidation_sent(NodeId parent) {
    ++(parent == kMemory ? memory_.invalidations_sent : caches_[parent].events.invalidations_sent);
  }

  template <class Directory>
  std::string directory_error(const Directory& directory, NodeId parent, Slot slot, bool parent_exclusive) const;
  std::string line_error(NodeId id, uint64_t line, Slot above, bool exclusive) const;
  std::string array_error(NodeId id, Slot slot) const;
  std::string tracked_error(NodeId id, Slot entry) const;

  std::vector<Cache> caches_;
  std::vector<Node> nodes_;
  std::vector<NodeId> roots_;               // the last level
  std::vector<NodeId> level1_[2];           // by core: instruction, data
  std::vector<Way> ways_;                   // by 2 * core + is data
  std::vector<const LruWay*> near_ways_;    // by node; null: misses go the general way
  std::vector<LineDirectory> directories_;  // by node; used when it does not hold its directory itself
  LineDirectory memory_directory_{1};
  Coherence coherence_ = Coherence::kMesi;
  size_t levels_ = 0;
  uint64_t snoops_at_memory_ = 0;  // for each request there
  Service service_{0, kMemory};
  uint32_t permission_level_ = 0;
  NodeId last_modified_ = kMemory;  // the child that lost modified data last
  MemoryStatistics memory_;
  std::vector<std::unique_ptr<PrefetchUnit>> prefetch_units_;  // by node
  std::vector<uint32_t> latency_[2];                           // by level, then memory; of fetches, of data
  std::vector<Wanted> wanted_;
  bool prefetching_ = false;
  uint64_t pc_ = 0;
  Clock clock_;
  Details* details_ = nullptr;
  RequestObserver* request_observer_ = nullptr;
  MemoryObserver* memory_observer_ = nullptr;
};

}  // namespace simrun::sim

namespace simrun::sim {

// Calls visit(child number) for each sharer but `skip`. The visitor may clear the bit of the child it is given.
template <typename Directory, typename Visit>
void for_each_sharer(const Directory& directory, Slot slot, uint32_t skip, Visit visit) {
  for (uint32_t word = 0; word < directory.sharer_words(); ++word)
    for (uint64_t bits = directory.sharers(slot, word); bits != 0; bits &= bits - 1) {
      const uint32_t child = word * 64 + std::countr_zero(bits);
      if (child != skip) visit(child);
    }
}

template <typename Directory>
[[gnu::always_inline]] inline bool has_sharers(const Directory& directory, Slot slot) {
  if (directory.sharers(slot, 0) != 0) return true;
  for (uint32_t word = 1; word < directory.sharer_words(); ++word)
    if (directory.sharers(slot, word) != 0) return true;
  return false;
}

template <class Directory>
[[gnu::always_inline]] inline CoherentTree::Sharing CoherentTree::add_sharer(Directory& directory, NodeId parent, Slot slot,
                                                                             uint32_t child, bool write) {
  const bool gives = nodes_[children_of(parent)[child]].gives_exclusive, coherent = coherence_ != Coherence::kNone;
  if (coherent && (has_sharers(directory, slot) || directory.dirty_child(slot))) [[unlikely]]
    return add_sharer_beside(directory, parent, slot, child, write, gives);
  const bool exclusive = write || (gives && (!coherent || directory.exclusive(slot)));
  directory.add_sharer(slot, child);
  if (coherent) directory.set_owned_by_child(slot, exclusive);
  return {exclusive, false};
}

template <class F>
auto CoherentTree::with_directory(NodeId node, F f) {
  if (node == kMemory) return f(memory_directory_);
  if (nodes_[node].holds_directory()) return f(caches_[node]);
  return f(directories_[node]);
}

}  // namespace simrun::sim
