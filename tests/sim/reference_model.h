// The semantics of the cache model, small, slow and obvious: sets are lists in order of recency, who holds a line is
// found by looking into every cache. No directories, no slots, no short cuts. The fast model must count the same to the
// last event.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "sim/build/machine_config.h"
#include "sim/stats/statistics.h"

namespace simrun::sim {

class ReferenceModel {
 public:
  explicit ReferenceModel(const MachineConfig& config);
  void access(uint32_t core, Access kind, uint64_t address, uint32_t bytes);
  void access_line(uint32_t core, Access kind, uint64_t line);
  Statistics statistics() const;

 private:
  struct Line {
    uint64_t number;
    Mesi state;
  };
  struct Cache {
    std::string name;
    uint32_t level, first_core, cores;
    Side side;
    size_t ways;
    std::vector<std::list<Line>> sets;  // most recent first
    Cache* parent = nullptr;            // null: memory
    std::vector<Cache*> children;
    CacheInstanceStatistics counts;

    std::list<Line>& set(uint64_t line) { return sets[line % sets.size()]; }
    Line* find(uint64_t line);
  };
  enum class Why { kOtherWrites, kParentEvicts, kFlush };

  Cache* level1(uint32_t core, bool fetch);
  void count(AccessCounts& counts, Access kind);
  const std::vector<Cache*>& children_of(Cache* parent) { return parent == nullptr ? last_level_ : parent->children; }
  bool any_other_child_holds(Cache* parent, Cache* child, uint64_t line);

  // `cache` gets an access of a kind to a line. Afterwards it holds the line, exclusively if it is a write.
  void request(Cache* cache, uint32_t core, Access kind, uint64_t line);
  // Before `child` reads: no other child of `parent` may stay Exclusive or Modified. True if one had modified data.
  bool stop_other_writers(Cache* parent, Cache* child, uint64_t line);
  // Before `child` writes: no other child of `parent` may hold the line. True if one had modified data.
  bool take_from_other_children(Cache* parent, Cache* child, uint64_t line);
  void make_exclusive(Cache* cache, uint64_t line);
  bool remove(Cache* cache, uint64_t line, Why why);
  bool make_shared(Cache* cache, uint64_t line);
  void write_back_into(Cache* parent, uint64_t line);
  void evict_last(Cache* cache, std::list<Line>& set);
  void flush(uint64_t line);

  MachineConfig config_;
  std::vector<std::unique_ptr<Cache>> caches_;
  std::vector<Cache*> last_level_;
  std::vector<CoreStatistics> cores_;
  MemoryStatistics memory_;
};

}  // namespace simrun::sim
