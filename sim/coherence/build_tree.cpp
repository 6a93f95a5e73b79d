// Set-up of the tree of caches from a machine description.
#include "sim/coherence/coherent_tree.h"

namespace simrun::sim {

namespace {

// The arrays of a level, in the order in which statistics name them.
std::vector<Side> sides_of(const LevelConfig& level) {
  return level.split ? std::vector{Side::kInstruction, Side::kData} : std::vector{Side::kUnified};
}

const CacheShape& shape_of(const LevelConfig& level, Side side) {
  return side == Side::kUnified ? level.unified : side == Side::kInstruction ? level.instruction : level.data;
}

bool is_plain(const CoherentTree::Node& node) {
  return node.holds_directory() && node.children.size() <= 64 && !node.write_through && !node.prefetches;
}

}  // namespace

CoherentTree::CoherentTree(const MachineConfig& config, Slice slice)
    : coherence_(config.coherence), levels_(config.levels.size()) {
  build_nodes(config);
  build_caches(config, slice);
  build_prefetchers(config);
  for (const Node& node : nodes_) directories_.emplace_back(static_cast<uint32_t>(node.children.size()));
  for (Node& node : nodes_) {
    node.gives_exclusive = node.side != Side::kInstruction && !node.write_through && coherence_ != Coherence::kMsi;
    if (coherence_ == Coherence::kNone) continue;
    node.plain = is_plain(node) && (node.parent == kMemory ? !directory_at_memory() : is_plain(nodes_[node.parent]));
  }
  build_ways();
  near_ways_.resize(nodes_.size());
  if (config.requests == Requests::kSnooping) snoops_at_memory_ = roots_.size() - 1;
  memory_directory_ = LineDirectory(static_cast<uint32_t>(roots_.size()));
}

void CoherentTree::build_nodes(const MachineConfig& config) {
  std::vector<NodeId> above;  // the caches of the level nearer the core
  for (uint32_t level = 0; level < config.levels.size(); ++level) {
    const uint32_t span = config.levels[level].cores_per_cache;
    std::vector<NodeId> here;
    for (const Side side : sides_of(config.levels[level]))
      for (uint32_t core = 0; core < config.cores; core += span) {
        here.push_back(static_cast<NodeId>(nodes_.size()));
        const LevelConfig& l = config.levels[level];
        nodes_.push_back({kMemory,
                          0,
                          {},
                          level,
                          side,
                          core,
                          span,
                          level == 0 ? Inclusion::kInclusive : l.inclusion,
                          l.write_policy == WritePolicy::kWriteThrough,
                          l.write_miss == WriteMiss::kAllocate});
        for (const NodeId child : above) {
          Node& c = nodes_[child];
          if (c.first_core / span * span != core || (side != Side::kUnified && side != c.side)) continue;
          c.parent = here.back();
          c.child_number = static_cast<uint32_t>(nodes_.back().children.size());
          nodes_.back().children.push_back(child);
        }
      }
    above = std::move(here);
  }
  roots_ = above;
  for (uint32_t i = 0; i < roots_.size(); ++i) nodes_[roots_[i]].child_number = i;

  for (const Side side : {Side::kInstruction, Side::kData})
    for (uint32_t core = 0; core < config.cores; ++core)
      for (NodeId id = 0; id < nodes_.size() && nodes_[id].level == 0; ++id)
        if (nodes_[id].first_core == core / nodes_[id].cores * nodes_[id].cores &&
            (nodes_[id].side == side || nodes_[id].side == Side::kUnified))
          level1_[side == Side::kData].push_back(id);
}

void CoherentTree::build_caches(const MachineConfig& config, Slice slice) {
  caches_.reserve(nodes_.size());
  for (const Node& node : nodes_) {
    const LevelConfig& level = config.levels[node.level];
    const CacheShape& shape = shape_of(level, node.side);
    const char* side = node.side == Side::kUnified ? "" : node.side == Side::kInstruction ? "I" : "D";
    caches_.emplace_back(Cache::Options{
        .name = level.name + side + "." + std::to_string(node.first_core / node.cores),
        .sets = shape.size_bytes / (uint64_t{config.line_bytes} * shape.ways) / slice.count,
        .ways = shape.ways,
        .children = static_cast<uint32_t>(node.children.size()),
        .replacement = level.replacement,
        .holds_directory = node.holds_directory(),
        .has_parent = node.parent != kMemory || directory_at_memory() || !node.holds_directory(),
        .slices = slice.count,
        .slice = slice.number,
    });
    caches_.back().first_core = node.first_core;
    caches_.back().requests.resize(node.cores);
  }
}

NodeId CoherentTree::level1(uint32_t core, Side side) const { return level1_[side != Side::kInstruction][core]; }

}  // namespace simrun::sim
