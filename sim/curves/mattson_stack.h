// Mattson's stack algorithm (Mattson, Gecsei, Slutz, Traiger: IBM Systems Journal 1970): one pass over the requests of
// a cache gives the misses of a fully associative LRU cache of every size. A line that another cache's write takes away
// leaves a hole at its place in the stack, which the next request from further down fills: so the curve is exact for
// private, coherent caches too.
//
// The top of the stack is a short list, in order, where most requests end. What is below is kept as the times of last use, a
// bit for each, the words of them counted in a Fenwick tree; when the times run out they are renumbered. Cost there: a
// look-up and three sums of log2(lines / 64) each.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <vector>

namespace simrun::sim {

// Lines are numbers that it gives out, from 0.
class MattsonStack {
 public:
  using Line = uint32_t;
  static constexpr Line kNoLine = ~Line{0};
  static constexpr uint64_t kFirst = ~uint64_t{0}, kTakenAway = kFirst - 1;

  MattsonStack();
  Line add_line() {
    times_.push_back(kNew);
    return static_cast<Line>(times_.size() - 1);
  }
  // How many other lines (and holes) are above it; or one of the two above.
  uint64_t access(Line line);
  void invalidate(Line line);

  uint64_t accesses() const { return accesses_; }
  uint64_t compulsory() const { return compulsory_; }    // first requests of a line: they miss in every size
  uint64_t invalidated() const { return invalidated_; }  // requests of a line that was taken away: likewise
  // Misses of a cache of so many lines.
  uint64_t misses(uint64_t lines) const;
  uint64_t distinct_lines() const { return times_.size(); }

 private:
  static constexpr uint64_t kNew = ~uint64_t{0}, kAbsent = kNew - 1, kAtTop = kNew - 2;
  static constexpr uint32_t kTop = 16;

  void put(uint64_t time);
  void remove(uint64_t time);
  void add(uint64_t word, uint32_t change);
  uint64_t count_up_to(uint64_t time) const;
  uint64_t times() const { return used_.size() * 64; }
  void clear(uint64_t times);
  void renumber();
  uint32_t first_hole_at_top() const;
  void raise(Line line, uint32_t free);
  uint64_t access_below(Line line);

  std::array<Line, kTop> top_;  // the most recent first; kNoLine: a hole
  uint32_t in_top_ = 0, holes_in_top_ = 0;
  std::vector<uint64_t> times_;  // of last use, by line, below the top; kAbsent: taken away
  // Below the top.
  std::set<uint64_t> holes_;    // times of lines that were taken away
  std::vector<uint64_t> used_;  // by time: a bit, of a line or a hole
  std::vector<uint32_t> tree_;  // Fenwick: bits of used_, by word
  uint64_t now_ = 0, in_tree_ = 0;
  uint64_t accesses_ = 0, compulsory_ = 0, invalidated_ = 0;
  std::vector<uint64_t> by_distance_;  // requests, by the number of other lines (and holes) above theirs
};

}  // namespace simrun::sim
