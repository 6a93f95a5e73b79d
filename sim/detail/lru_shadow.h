// A fully associative LRU cache of lines, for telling capacity misses from conflicts: a replacement miss that this
// shadow of equal capacity would have hit is a conflict (Hill and Smith, IEEE ToC 1989). One hash look-up per access.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace simrun::sim {

class LruShadow {
 public:
  explicit LruShadow(uint64_t capacity) : capacity_(capacity) { nodes_.push_back({0, 0, 0}); }

  // Makes `line` the most recent. Returns whether it was there.
  bool access(uint64_t line) {
    if (nodes_[0].next != 0 && nodes_[nodes_[0].next].line == line) return true;
    const auto [position, is_new] = index_.try_emplace(line, 0);
    if (!is_new) {
      unlink(position->second);
      push_front(position->second);
      return true;
    }
    uint32_t node;
    if (free_ != 0) {
      node = free_;
      free_ = nodes_[node].next;
    } else if (index_.size() <= capacity_) {
      node = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({});
    } else {
      node = nodes_[0].previous;
      unlink(node);
      index_.erase(nodes_[node].line);
    }
    nodes_[node].line = line;
    position->second = node;
    push_front(node);
    return false;
  }

  void remove(uint64_t line) {
    const auto position = index_.find(line);
    if (position == index_.end()) return;
    unlink(position->second);
    nodes_[position->second].next = free_;
    free_ = position->second;
    index_.erase(position);
  }

 private:
  struct Node {
    uint64_t line;
    uint32_t previous, next;  // node 0 is the ends of the list
  };

  void unlink(uint32_t node) {
    nodes_[nodes_[node].previous].next = nodes_[node].next;
    nodes_[nodes_[node].next].previous = nodes_[node].previous;
  }
  void push_front(uint32_t node) {
    nodes_[node].previous = 0;
    nodes_[node].next = nodes_[0].next;
    nodes_[nodes_[0].next].previous = node;
    nodes_[0].next = node;
  }

  uint64_t capacity_;
  uint32_t free_ = 0;
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, uint32_t> index_;
};

}  // namespace simrun::sim
