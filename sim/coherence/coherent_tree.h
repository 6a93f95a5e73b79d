// The caches of a machine as a tree with memory at its root, kept coherent by MESI: everything that happens behind a
// hit in level 1. docs/cache-model.md defines the protocol and what is counted where.
//
// Every cache includes the caches above it (nearer the core) and is their directory. "Parent" is toward memory, "child"
// toward the core. Invariants, checked by check_invariants():
//   - a line in a cache is in its parent, whose sharer bits name exactly the children that hold it;
//   - a child holds a line Exclusive or Modified only if its parent does too and no other child holds it
//   (owned_by_child).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/build/machine_config.h"
#include "sim/cache/cache.h"
#include "sim/coherence/memory_directory.h"
#include "sim/detail/details.h"

namespace simrun::sim {

using NodeId = uint32_t;  // of a cache; children have lower numbers than their parents
inline constexpr NodeId kMemory = ~NodeId{0};

class CoherentTree {
 public:
  // `config` must have passed find_problem() (sim/build/validate_machine.h).
  explicit CoherentTree(const MachineConfig& config);

  // A cache and its place in the tree.
  struct Node {
    NodeId parent;          // kMemory for the last level
    uint32_t child_number;  // among its parent's children
    std::vector<NodeId> children;
    uint32_t level;  // 0 is nearest the core
    Side side;
    uint32_t first_core, cores;
  };

  // The level-1 cache of a core; `side` is kInstruction or kData (the same cache when level 1 is unified).
  NodeId level1(uint32_t core, Side side) const;
  Cache& cache(NodeId node) { return caches_[node]; }
  const Cache& cache(NodeId node) const { return caches_[node]; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }

  // A reference of `core` missed in the level-1 cache `node`: brings the line there, with permission for `kind`.
  // Returns its slot.
  Slot miss(NodeId node, uint32_t core, Access kind, uint64_t line);
  // A write found the line in `slot` of `node`, not Modified: makes it Modified.
  void write_hit(NodeId node, Slot slot);
  // The line leaves every cache.
  void flush(uint64_t line);

  const MemoryStatistics& memory() const { return memory_; }
  // Null, or who wants to know of everything; must outlive this.
  void tell(Details* details) { details_ = details; }
  bool check_invariants(std::string* why) const;

 private:
  struct Request {
    uint32_t core;
    Access kind;
    uint64_t line;
  };
  struct Grant {
    bool exclusive;
    Slot slot;  // of the line in the granting cache or directory
  };

  // What it took to note a child as a sharer: the permission it gets; whether another child supplied modified data.
  struct Sharing {
    bool exclusive;
    bool supplied;
  };

  void build_nodes(const MachineConfig& config);
  void build_caches(const MachineConfig& config);
  bool directory_at_memory() const { return roots_.size() > 1; }
  static constexpr uint32_t kNobody = ~uint32_t{0};
  const std::vector<NodeId>& children_of(NodeId parent) const {
    return parent == kMemory ? roots_ : nodes_[parent].children;
  }

  // A child misses: make the parent hold the line with the permission asked for, and note the child as a sharer.
  Grant serve(NodeId parent, uint32_t child_number, const Request& request);
  Grant serve_from_memory(uint32_t child_number, const Request& request);
  // Fetches the line into `node` from its parent; evicts what is in the way. Returns its slot.
  Slot allocate(NodeId node, const Request& request);
  // `node` holds the line Shared in `slot`: makes it Exclusive, gone from every cache outside the subtree of `node`.
  void obtain_exclusive(NodeId node, Slot slot);
  // `directory` is that of `parent`: a Cache or the MemoryDirectory.
  template <typename Directory>
  Sharing add_sharer(Directory& directory, NodeId parent, Slot slot, uint32_t child, bool write, bool may_be_exclusive);
  // Takes the line from all children but `keep_child` (kNobody: from all). Returns whether one had it modified.
  template <typename Directory>
  bool remove_from_children(Directory& directory, NodeId parent, Slot slot, uint32_t keep_child, Loss reason);
  // One child holds the line Exclusive or Modified: makes it Shared there. Returns whether it was modified.
  template <typename Directory>
  bool downgrade_owner(Directory& directory, NodeId parent, Slot slot);
  // The line leaves `node` and the caches above it. Returns whether it was modified there.
  bool remove_subtree(NodeId node, uint64_t line, Loss reason);
  // Exclusive or Modified becomes Shared in `node` and above. Returns whether it was modified.
  bool downgrade_subtree(NodeId node, uint64_t line);
  void evict(NodeId node, Slot slot);
  void forget_child(NodeId parent, Slot slot, uint32_t child);
  void take_write_back(NodeId node, Slot slot);
  void count_invalidation_sent(NodeId parent) {
    ++(parent == kMemory ? memory_.invalidations_sent : caches_[parent].events.invalidations_sent);
  }
  template <typename Directory>
  std::string directory_error(const Directory& directory, NodeId parent, Slot slot, bool parent_exclusive) const;
  std::string line_error(NodeId id, Slot slot) const;

  std::vector<Cache> caches_;
  std::vector<Node> nodes_;
  std::vector<NodeId> roots_;      // the last level
  std::vector<NodeId> level1_[2];  // by core: instruction, data
  MemoryDirectory memory_directory_{1};
  MemoryStatistics memory_;
  Details* details_ = nullptr;
};

}  // namespace simrun::sim
