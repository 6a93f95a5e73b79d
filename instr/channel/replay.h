// One execution of a path, turned into calls of a sink and into counts. The loop over plain references is the hot one
// of the whole reader: no branch but the fetch/data one, 16 bytes of description per reference. Measured by
// bench/channel/merge_benchmark.cpp.
#pragma once

#include <cstdint>
#include <limits>

#include "instr/channel/path_table.h"
#include "instr/channel/reference.h"
#include "instr/channel/special_operands.h"
#include "instr/channel/thread_statistics.h"

namespace simrun::channel {

// What replaying needs to know of a thread.
struct ReplayState {
  uint32_t handle = 0;                                        // what the sink's start_thread returned
  uint64_t last_line = std::numeric_limits<uint64_t>::max();  // of instructions, fetched last
  SegmentBases bases;
  ThreadStatistics statistics;
};

template <class Sink>
void replay_plain(const Reference* from, const Reference* to, const uint64_t* words, uint32_t handle, Sink& sink) {
  for (; from != to; ++from) {
    const uint64_t value = evaluate(*from, words);
    if (from->kind == ReferenceKind::kFetch)
      sink.fetch(handle, value);
    else
      sink.data(handle, from->kind, value, from->bytes);
  }
}

// Plain references with the special operands at their places between them: program order.
template <class Sink>
[[gnu::noinline]] void replay_special(const DecodedPath& path, const Reference* from, const uint64_t* words,
                                      ReplayState& thread, Sink& sink) {
  const auto emit = [&](border::OperandKind operand_kind, uint64_t address, uint32_t bytes) {
    const ReferenceKind kind = to_reference_kind(operand_kind);
    count_reference(thread.statistics, kind);
    if constexpr (Sink::kWantsReferences) sink.data(thread.handle, kind, address, bytes);
  };
  for (uint32_t i = 0; i < path.special_count; ++i) {
    const SpecialOperand& special = path.specials[i];
    const Reference* stop = path.references + special.position;
    if constexpr (Sink::kWantsReferences) replay_plain(from, stop, words, thread.handle, sink);
    from = stop;
    thread.statistics.string_iterations += expand_special(&special, words, thread.bases, emit);
    i += special.interleaved;
  }
  if constexpr (Sink::kWantsReferences)
    replay_plain(from, path.references + path.reference_count, words, thread.handle, sink);
}

// `words`: the block word and the address words. A fetch of the line that the thread fetched last is left out, so that
// the number of fetches does not depend on where superblocks were cut.
template <class Sink>
inline void replay(const DecodedPath& path, const uint64_t* words, ReplayState& thread, Sink& sink) {
  const uint32_t skip = path.first_line == thread.last_line ? 1 : 0;
  thread.last_line = path.last_line;
  ThreadStatistics& s = thread.statistics;
  ++s.paths;
  s.instructions += path.instructions;
  s.loads += path.loads;
  s.stores += path.stores;
  s.prefetches += path.prefetches;
  s.flushes += path.flushes;
  s.fetch_lines += path.fetches - skip;
  if (path.special_count != 0) [[unlikely]]
    replay_special(path, path.references + skip, words, thread, sink);
  else if constexpr (Sink::kWantsReferences)
    replay_plain(path.references + skip, path.references + path.reference_count, words, thread.handle, sink);
}

}  // namespace simrun::channel
