// Lists references for slices, and leaves out those that are hits of level 1 whatever the caches hold. It looks at no
// cache, so who has the references need not wait for the slices.
//
// A group is references of one core in a row, no flush among them. A line that it had already, written if it is to be
// written, is in level 1 still unless
//   - the group met as many other lines of its set of level 1 as the set has ways since: until then the least recently
//     used one that goes is another;
//   - or an inclusive cache took it away from level 1, for a victim of its own. That was for a line that missed there, of
//     the same *column*: the lines whose numbers agree in the low bits that choose the set in all inclusive levels;
//   - or a reference by the other half of level 1 to the same line did.
// Each column remembers two lines, of either half. A line that is listed is in level 1 then, and leaves doubt about the
// one that was listed before. When that comes again in the same group, it is listed too, but leaves no doubt about the
// other one: if the other's reference was a hit of level 1, nothing of the column has gone since, and this one is a hit
// as well; if it was not, the other line is the most recent one wherever it missed, and is no victim there (of LRU with
// two ways or more; of other policies there is doubt). From then on both are sure. A reference to a line that is sure is
// left out, and only the time of the last one is kept, which is all that the order of recency needs.
//
// The list has the form of level 1's own shortcut, a guess leads to the line's place in it, so whoever knows how to look
// at that can be the filter's fast way: a reference that it answers is left out.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sim/build/machine_config.h"
#include "sim/cache/cache.h"
#include "sim/parallel/reference_batch.h"

namespace simrun::sim {

class HitFilter {
 public:
  // Level 1 is of the kind whose hits are known.
  static bool can_filter(const MachineConfig& machine);

  // For one machine, or several whose levels 1 have the same shape and can be filtered: what is a hit in all.
  explicit HitFilter(std::span<const MachineConfig> machines);
  HitFilter(const HitFilter&) = delete;  // shortcuts point into it
  HitFilter& operator=(const HitFilter&) = delete;

  // False: level 1 is of another kind, all is listed, and no shortcut answers.
  bool filters() const { return filters_; }
  const Cache::Shortcut& shortcut(bool is_fetch) const { return sides_[is_fetch ? 0 : data_side_].shortcut; }

  // A reference, no flush, that the shortcut does not answer, or was not asked; not when is_full().
  [[gnu::always_inline]] void put(Access kind, uint64_t line);
  // One that is listed whatever it is; such groups have nothing else.
  void list(Access kind, uint64_t line) {
    kinds_[listed_] = kind;
    lines_[listed_++] = {line << 1 | kDoubtful, ++clock_};
  }
  bool is_full() const { return listed_ == Batch::kMostListed; }
  // What was put since the last one ended is a group: completes `group`. The clock begins anew.
  void end_group(Group& group);
  // What was listed, all of it in groups that ended; then the list is empty.
  void take(Batch& batch);

 private:
  static constexpr uint64_t kMostColumns = 4096, kMostGuesses = 16384;
  using Place = Cache::Guess;  // in lines_
  // What lies there is forgotten. Its bytes are equal, for memset.
  static constexpr Place kNoPlace = 0x1010;
  static_assert(kNoPlace >= Batch::kMostListed);

  // The line that was listed last, and the one before. Tags tell most lines apart without a look at the list, which is
  // too large for the host's level 1; the highest bit is the half.
  struct Column {
    Place place[2] = {kNoPlace, kNoPlace};
    uint16_t tag[2] = {};
  };
  static constexpr uint16_t kHalf = 1u << 15;
  // Of the halves of level 1, or of it as a whole.
  struct Side {
    std::vector<Place> guesses;
    // Of level 1, `ways` places of lines each: those of the group that were used last. Each that is not doubtful is
    // there, for who came after it goes after it.
    std::vector<Place> sets;
    std::vector<uint8_t> sizes;
    uint64_t set_mask = 0;
    uint32_t ways = 0;
    Cache::Shortcut shortcut;
  };

  bool holds(Place place, uint64_t line) const { return line_of(lines_[place]) == line; }
  void doubt(Place place) { lines_[place].key |= kDoubtful; }
  // The line at `place` of the list is met; it was listed at `before` already, or it is not known where. One too many:
  // the least recently used one is doubtful.
  void meet(Side& side, uint64_t line, Place place, Place before);
  void forget_guesses();

  bool filters_;
  bool pairs_;  // two sure lines in a column
  uint64_t column_mask_ = 0;
  uint32_t column_bits_ = 0;
  size_t data_side_ = 0;
  uint64_t clock_ = 0;
  uint32_t listed_ = 0, begin_ = 0;  // in the list; when the group began
  std::vector<Cache::Recent> lines_;
  std::vector<Access> kinds_;
  std::vector<Column> columns_;
  std::vector<Side> sides_;
};

[[gnu::always_inline]] inline void HitFilter::meet(Side& side, uint64_t line, Place place, Place before) {
  const uint64_t set = line & side.set_mask;
  Place* const places = &side.sets[set * side.ways];
  uint8_t& size = side.sizes[set];
  if (before != kNoPlace) [[unlikely]]
    for (uint32_t i = 0; i < size; ++i)
      if (places[i] == before) {
        places[i] = place;
        return;
      }
  if (size < side.ways) {
    places[size++] = place;
    return;
  }
  Place& oldest = *std::min_element(places, places + size, [this](Place a, Place b) { return lines_[a].used < lines_[b].used; });
  doubt(oldest);
  oldest = place;
}

inline void HitFilter::put(Access kind, uint64_t line) {
  if (!filters_) [[unlikely]]
    return list(kind, line);
  const bool write = is_write(kind);
  const size_t half = kind == Access::kFetch ? 0 : data_side_;
  Side& side = sides_[half];
  Column& column = columns_[line & column_mask_];
  Place& guess = side.guesses[side.shortcut.place(line)];
  const auto tag = static_cast<uint16_t>((line >> column_bits_ & (kHalf - 1)) | (half != 0 ? kHalf : 0));
  Place place = kNoPlace;
  const bool is_last = column.tag[0] == tag && holds(column.place[0], line);
  if (is_last || (column.tag[1] == tag && holds(column.place[1], line))) {
    place = column.place[is_last ? 0 : 1];
    Cache::Recent& before = lines_[place];
    if (before.answers(line, write)) {  // only the guess was wrong
      guess = place;
      before.used = ++clock_;
      return;
    }
    if (!is_last) {
      if ((before.key & kDoubtful) != 0 && (!pairs_ || place < begin_)) doubt(column.place[0]);
      column.place[1] = column.place[0], column.tag[1] = column.tag[0];
    }
  } else {
    doubt(column.place[0]), doubt(column.place[1]);
    const bool other_half = (column.tag[0] ^ tag) == kHalf;  // of the same line, perhaps
    column.place[1] = other_half ? kNoPlace : column.place[0], column.tag[1] = column.tag[0];
  }
  meet(side, line, static_cast<Place>(listed_), place);
  guess = column.place[0] = static_cast<Place>(listed_);
  column.tag[0] = tag;
  kinds_[listed_] = kind;
  lines_[listed_++] = {line << 1 | uint64_t{write}, ++clock_};
}

}  // namespace simrun::sim
