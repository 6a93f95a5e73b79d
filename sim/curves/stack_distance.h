// Mattson's stack algorithm (Mattson, Gecsei, Slutz, Traiger: IBM Systems Journal 1970): one pass over the requests of
// a cache gives the misses of a fully associative LRU cache of every size. A line that another cache's write takes away
// leaves a hole at its place in the stack, which the next request from further down fills: so the curve is exact for
// private, coherent caches too.
//
// The stack is kept as the times of last use, counted in a Fenwick tree; when the times run out they are renumbered.
// Cost: a hash look-up and two sums of log2(lines) each.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

namespace simrun::sim {

class StackDistance {
 public:
  StackDistance();
  static constexpr uint64_t kFirst = ~uint64_t{0}, kTakenAway = kFirst - 1;
  // How many other lines (and holes) are above it; or one of the two above.
  uint64_t access(uint64_t line);
  void invalidate(uint64_t line);

  uint64_t accesses() const { return accesses_; }
  uint64_t compulsory() const { return compulsory_; }    // first requests of a line: they miss in every size
  uint64_t invalidated() const { return invalidated_; }  // requests of a line that was taken away: likewise
  // Misses of a cache of so many lines.
  uint64_t misses(uint64_t lines) const;
  uint64_t distinct_lines() const { return times_.size(); }

 private:
  static constexpr uint64_t kAbsent = ~uint64_t{0};

  void add(uint64_t time, int64_t change);
  uint64_t count_up_to(uint64_t time) const;
  void renumber();
  void push(uint64_t& time);

  std::unordered_map<uint64_t, uint64_t> times_;  // of last use, by line; kAbsent: taken away
  std::set<uint64_t> holes_;                      // times of lines that were taken away
  std::vector<int64_t> tree_;                     // Fenwick: of lines and holes, by time
  uint64_t now_ = 0, in_stack_ = 0;
  uint64_t last_line_ = kAbsent;
  uint64_t accesses_ = 0, compulsory_ = 0, invalidated_ = 0;
  std::vector<uint64_t> by_distance_;  // requests, by the number of other lines (and holes) above theirs
};

}  // namespace simrun::sim
