#include "instr/channel/process_tree.h"

namespace simrun::channel {

void ProcessTree::add(uint32_t parent, uint64_t pid, uint32_t child) {
  reap(parent, pid);
  children_[{parent, pid}] = child;
  places_[child] = {parent, pid};
}

void ProcessTree::replace(uint32_t before, uint32_t now) {
  if (const auto place = places_.find(before); place != places_.end()) {
    children_[place->second] = now;
    places_[now] = place->second;
    places_.erase(place);
  }
  for (auto next = children_.lower_bound({before, 0}); next != children_.end() && next->first.first == before;) {
    auto node = children_.extract(next++);
    node.key().first = now;
    places_[node.mapped()].first = now;
    children_.insert(std::move(node));
  }
}

void ProcessTree::reap(uint32_t parent, uint64_t pid) {
  const auto found = children_.find({parent, pid});
  if (found == children_.end()) return;
  places_.erase(found->second);
  children_.erase(found);
}

void ProcessTree::forget(uint32_t parent) {
  for (auto next = children_.lower_bound({parent, 0}); next != children_.end() && next->first.first == parent;) {
    places_.erase(next->second);
    next = children_.erase(next);
  }
}

std::optional<uint32_t> ProcessTree::child(uint32_t parent, uint64_t pid) const {
  const auto found = children_.find({parent, pid});
  return found == children_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<uint32_t> ProcessTree::parent(uint32_t process) const {
  const auto found = places_.find(process);
  return found == places_.end() ? std::nullopt : std::optional(found->second.first);
}

}  // namespace simrun::channel
