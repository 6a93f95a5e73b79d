// Whose child is which process, by the number that its parent knows it by, through what both execute.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace simrun::channel {

class ProcessTree {
 public:
  // `pid`: what the parent's call returned.
  void add(uint32_t parent, uint64_t pid, uint32_t child);
  // By exec: `now` is what `before` was, and the children are its own.
  void replace(uint32_t before, uint32_t now);
  // The parent has been told of its end: the number may be another child's.
  void reap(uint32_t parent, uint64_t pid);
  // It asks for no child any more.
  void forget(uint32_t parent);

  // What the child is now, if it is known.
  std::optional<uint32_t> child(uint32_t parent, uint64_t pid) const;
  // Nothing: none is known, or the process has been replaced.
  std::optional<uint32_t> parent(uint32_t process) const;

 private:
  using Place = std::pair<uint32_t, uint64_t>;  // parent, number there
  std::map<Place, uint32_t> children_;
  std::map<uint32_t, Place> places_;  // of children
};

}  // namespace simrun::channel
