// Paths of one thread in a row into a sink that takes many at once, in whichever way it has.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>

#include "instr/channel/counting_sink.h"
#include "instr/channel/decoded_paths.h"
#include "instr/channel/replay.h"

namespace simrun::channel {

// A sink for which others make references of paths, later, each thread's by a ReplayState like that of before them. Here
// they are counted only.
//   bool makes_later(uint32_t handle)   now
//   void make_later(DecodedPaths&, const ReplayState& before, std::span<const uint64_t> words)
//   void lose_paths(uint32_t process)   its DecodedPaths go
template <class Sink>
concept MakesLater = requires(Sink& s, DecodedPaths& p, const ReplayState& r, std::span<const uint64_t> w) {
  { s.makes_later(0u) } -> std::same_as<bool>;
  s.make_later(p, r, w);
  s.lose_paths(0u);
};

struct PathsTaken {
  const uint64_t* at;  // where it stopped
  uint64_t instructions;
};

// As PathsTogether::run(), with what was counted in `thread`. Nothing: the sink wants paths one by one now.
template <class Sink>
[[gnu::always_inline]] inline std::optional<PathsTaken> take_paths(Sink& sink, DecodedPaths& paths, ReplayState& thread,
                                                                   const uint64_t* first, const uint64_t* end,
                                                                   uint64_t turn) {
  PathsTaken taken{first, 0};
  const auto take = [&](auto& way, auto& to) __attribute__((always_inline)) {
    PathsTogether together(thread, way);
    taken.at = together.run(paths, first, end, turn, to);
    taken.instructions = together.instructions();
  };
  if constexpr (MakesLater<Sink>) {
    if (sink.makes_later(thread.handle)) {
      CountingSink counting;
      const ReplayState before = thread;
      counting.take_together(0, [&](auto& way) __attribute__((always_inline)) { take(way, counting); });
      if (taken.at != first) sink.make_later(paths, before, std::span(first, taken.at));
      return taken;
    }
  }
  if constexpr (TakesTogether<Sink>)
    if (sink.take_together(thread.handle, [&](auto& way) __attribute__((always_inline)) { take(way, sink); })) return taken;
  return {};
}

}  // namespace simrun::channel
