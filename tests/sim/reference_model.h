// The semantics of the cache model, small, slow and obvious: who holds a line is found by looking into every cache. No
// directories, no slots, no short cuts. The fast model must count the same to the last event. Read beside
// docs/cache-model.md.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "sim/build/machine_config.h"
#include "sim/coherence/coherent_tree.h"
#include "sim/prefetch/prefetch_unit.h"
#include "sim/stats/statistics.h"
#include "tests/sim/reference_replacement.h"

namespace simrun::sim {

class ReferenceModel {
 public:
  explicit ReferenceModel(const MachineConfig& config);
  void access(uint32_t core, Access kind, uint64_t address, uint32_t bytes);
  void set_pc(uint64_t pc) { pc_ = pc; }
  void access_line(uint32_t core, Access kind, uint64_t line);
  Statistics statistics() const;
  using MemoryAccesses = std::vector<std::pair<MemoryAccess, uint64_t>>;
  // What has reached memory since the last call.
  MemoryAccesses take_memory_accesses() { return std::exchange(memory_accesses_, {}); }

 private:
  struct Cache {
    Cache(Replacement policy, uint64_t sets, size_t ways) : array(policy, sets, ways) {}
    std::string name;
    uint32_t level = 0, first_core = 0, cores = 0;
    Side side = Side::kUnified;
    Inclusion inclusion = Inclusion::kInclusive;
    bool write_through = false, write_allocate = true;
    ReferenceReplacement array;
    std::map<uint64_t, bool> permission;                  // not inclusive: of the lines in the domain, exclusive or not
    std::map<uint64_t, std::set<const Cache*>> visitors;  // inclusive: of the lines in the array
    Cache* parent = nullptr;                              // null: memory
    std::vector<Cache*> children;
    CacheInstanceStatistics counts;
    // Prefetching. Lines brought and not used yet: the core, when the data would be here.
    std::unique_ptr<PrefetchPredictor> predictor;
    std::map<uint64_t, std::pair<uint32_t, uint64_t>> marks;

    CacheStatistics& total() { return counts.total; }
    bool includes() const { return inclusion == Inclusion::kInclusive; }
    ReferenceLine* find(uint64_t line);
  };
  struct Grant {
    bool exclusive, dirty;
  };

  Cache* level1(uint32_t core, bool fetch);
  void count(AccessCounts& counts, Access kind);
  const std::vector<Cache*>& children_of(Cache* parent) { return parent == nullptr ? last_level_ : parent->children; }
  void snoop(Cache* parent);

  // The domain of a cache: itself and all above it.
  bool holds(Cache* cache, uint64_t line);
  bool exclusive(Cache* cache, uint64_t line);
  void set_exclusive(Cache* cache, uint64_t line, bool exclusive);
  bool dirty(Cache* cache, uint64_t line);
  bool any_child_holds(Cache* parent, uint64_t line, const Cache* but);

  void reference(Cache* cache, uint32_t core, Access kind, uint64_t line);
  // `child` wants the line. Afterwards its parent's domain holds it, exclusively for a write.
  Grant get(Cache* parent, Cache* child, uint32_t core, Access kind, uint64_t line);
  void read_memory(Access kind, uint64_t line);
  void write_memory(uint64_t line);
  Grant get_from_memory(Cache* child, Access kind, uint64_t line);
  Grant get_from_not_inclusive(Cache* parent, Cache* child, uint32_t core, Access kind, uint64_t line);
  // What `child`'s wish means for the other children. `exclusive`: what the child may have.
  struct Settled {
    bool exclusive, supplied;
  };
  void count_service(uint32_t core, Access kind);
  Settled settle(Cache* parent, Cache* child, bool write, uint64_t line);
  bool take_from_others(Cache* parent, Cache* child, uint64_t line, bool always_merge = false, Loss why = Loss::kCoherence);
  void make_exclusive(Cache* cache, uint64_t line);
  bool remove(Cache* cache, uint64_t line, Loss why);
  bool make_shared(Cache* cache, uint64_t line);
  void pass_write(Cache* child, uint32_t core, Access kind, uint64_t line, bool keeps);

  void place(Cache* cache, uint64_t line, State state);
  void take_out(Cache* cache, uint64_t line);
  void leave(Cache* cache, uint64_t line, bool dirty);
  void write_back(Cache* cache, uint64_t line);
  void put_dirty(Cache* cache, uint64_t line);
  void flush(uint64_t line);

  // Prefetching: a demand access arrives at `cache`; the line comes for a prefetcher.
  void observe(Cache* cache, uint32_t core, Access kind, uint64_t line);
  void prefetch(Cache* cache, uint32_t core, uint64_t line);
  uint64_t latency(Side side, uint32_t level) const;

  struct Wanted {
    Cache* cache;
    uint32_t core;
    uint64_t line;
  };
  // Pages, the most recent first, by set.
  struct Pages {
    TlbShape shape;
    std::map<uint64_t, std::vector<uint64_t>> sets;
    bool touch(uint64_t page);
  };
  struct CoreTlb {
    Pages instruction, data, second;
  };
  uint64_t translate(uint32_t core, Access kind, uint64_t line);

  MachineConfig config_;
  std::vector<Wanted> wanted_;
  std::vector<CoreTlb> tlbs_;
  std::map<uint64_t, uint64_t> frames_;
  std::vector<uint64_t> clocks_;  // lines accessed by each core
  uint64_t pc_ = 0;
  std::vector<std::unique_ptr<Cache>> caches_;
  std::vector<Cache*> last_level_;
  std::map<uint64_t, Cache*> forwarder_;  // MESIF, at memory
  std::vector<CoreStatistics> cores_;
  MemoryStatistics memory_;
  MemoryAccesses memory_accesses_;
  // The request under way: the level that answered; a cache that handed the line over, or null.
  uint32_t service_level_ = 0, permission_level_ = 0;
  const Cache *supplier_ = nullptr, *last_modified_ = nullptr;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> transfers_;
};

}  // namespace simrun::sim
