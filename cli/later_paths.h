// Paths on their way to who makes their references later (channel::MakesLater): the words that stand before theirs, and
// what is done with both.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>

#include "instr/channel/replay.h"

namespace simrun::cli {

struct LaterHead {
  channel::DecodedPaths* paths;
  uint64_t last_line;
  channel::SegmentBases bases;
  uint64_t handle;
};
using LaterHeadWords = std::array<uint64_t, sizeof(LaterHead) / sizeof(uint64_t)>;

inline LaterHeadWords later_head(channel::DecodedPaths& paths, const channel::ReplayState& before) {
  return std::bit_cast<LaterHeadWords>(LaterHead{&paths, before.last_line, before.bases, before.handle});
}

// `words`: a head's, and those of paths. Sink: a BasicModelSink.
template <class Sink>
void make_later_paths(Sink& sink, std::span<const uint64_t> words) {
  LaterHeadWords head_words;
  std::copy_n(words.begin(), head_words.size(), head_words.begin());
  const auto head = std::bit_cast<LaterHead>(head_words);
  channel::ReplayState state;
  state.handle = static_cast<uint32_t>(head.handle), state.last_line = head.last_line, state.bases = head.bases;
  const uint64_t *at = words.data() + head_words.size(), *const end = words.data() + words.size();
  const bool together = sink.take_together(state.handle, [&](auto& way) {
    channel::PathsTogether(state, way).run(*head.paths, at, end, std::numeric_limits<int64_t>::max(), sink);
  });
  for (; !together && at != end; at += head.paths->length(*at)) channel::replay((*head.paths)[*at], at, state, sink);
}

}  // namespace simrun::cli
