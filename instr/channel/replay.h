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

// A sink with kWantsPc = true is told the address of the instruction too, as the last argument of fetch() and data().
// For the others nothing is read or computed.
template <class Sink>
inline constexpr bool kSinkWantsPc = requires {
  requires Sink::kWantsPc;
};

template <class Sink>
void put_data(Sink& sink, uint32_t handle, ReferenceKind kind, uint64_t address, uint32_t bytes, uint64_t pc) {
  if constexpr (kSinkWantsPc<Sink>)
    sink.data(handle, kind, address, bytes, pc);
  else if constexpr (Sink::kWantsReferences)
    sink.data(handle, kind, address, bytes);
}

// A sink that takes the plain references of a path at once: the loop over them is its own.
template <class Sink>
concept TakesPaths = requires(Sink& s, const PlainReferences& p) {
  s.plain(0u, p);
};

// One reference of any kind.
template <class Sink>
void put(Sink& sink, uint32_t handle, ReferenceKind kind, uint64_t value, uint32_t bytes, uint64_t pc) {
  if (kind != ReferenceKind::kFetch) return put_data(sink, handle, kind, value, bytes, pc);
  if constexpr (kSinkWantsPc<Sink>)
    sink.fetch(handle, value, pc);
  else if constexpr (Sink::kWantsReferences)
    sink.fetch(handle, value);
}

// The references [from, to) of `path`.
template <class Sink>
void replay_plain(const DecodedPath& path, uint32_t from, uint32_t to, const uint64_t* words, uint32_t handle,
                  Sink& sink) {
  for (const Reference *r = path.references + from, *end = path.references + to; r != end; ++r) {
    uint64_t pc = 0;
    if constexpr (kSinkWantsPc<Sink>) pc = path.pcs[r - path.references];
    put(sink, handle, r->kind, evaluate(*r, words), r->bytes, pc);
  }
}

// Plain references with the special operands at their places between them: program order.
template <class Sink>
[[gnu::noinline]] void replay_special(const DecodedPath& path, uint32_t from, const uint64_t* words,
                                      ReplayState& thread, Sink& sink) {
  for (uint32_t i = 0; i < path.special_count; ++i) {
    const SpecialOperand& special = path.specials[i];
    const auto emit = [&](border::OperandKind operand_kind, uint64_t address, uint32_t bytes) {
      const ReferenceKind kind = to_reference_kind(operand_kind);
      count_reference(thread.statistics, kind);
      put_data(sink, thread.handle, kind, address, bytes, special.pc);
    };
    if constexpr (Sink::kWantsReferences) replay_plain(path, from, special.position, words, thread.handle, sink);
    from = special.position;
    thread.statistics.string_iterations += expand_special(&special, words, thread.bases, emit);
    i += special.interleaved;
  }
  if constexpr (Sink::kWantsReferences) replay_plain(path, from, path.reference_count, words, thread.handle, sink);
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
    replay_special(path, skip, words, thread, sink);
  else if constexpr (TakesPaths<Sink>)
    sink.plain(thread.handle, {path.references + skip,
                               path.pcs + skip,
                               path.reference_count - skip,
                               words,
                               {path.fetches - skip, static_cast<uint32_t>(path.loads - path.modifications),
                                static_cast<uint32_t>(path.stores - path.modifications), path.modifications}});
  else if constexpr (Sink::kWantsReferences)
    replay_plain(path, skip, path.reference_count, words, thread.handle, sink);
}

}  // namespace simrun::channel
