// The chunks of a trace through a replay, the next one decoded while this one is at work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <future>

#include "cli/progress.h"
#include "traces/reader.h"
#include "traces/trace_error.h"

namespace simrun::cli {

// Replay: as traces::Replay has run() and over(). From the chunk that holds instruction `from` on, until `stops` (asked
// between chunks) says so: then true. Throws traces::TraceError for a damaged trace.
template <class Replay>
bool replay_all(const traces::Reader& trace, Replay& replay, uint64_t from, uint64_t to, Progress& progress, bool (*stops)() = nullptr) {
  size_t at = trace.chunk_of(from);
  traces::Chunk chunk, used;
  const auto fetch = [&](size_t index) {
    return std::async(std::launch::async, [&trace, index, memory = std::move(used)]() mutable {
      return trace.read_chunk(index, std::move(memory));
    });
  };
  std::future<traces::Chunk> next;
  if (at < trace.chunks().size()) next = fetch(at);
  uint64_t instructions = 0;
  const uint64_t end = std::min(trace.instructions(), to), all = end - std::min(from, end);  // or some more, of the first chunk and the last
  bool stopped = false;
  for (; at < trace.chunks().size() && !replay.over() && !stopped; ++at) {
    used = std::move(chunk);
    chunk = next.get();
    if (at + 1 < trace.chunks().size()) next = fetch(at + 1);
    try {
      replay.run(chunk, from, to);
    } catch (const traces::FormatError& error) {
      if (next.valid()) next.wait();
      throw traces::TraceError(trace.path(), trace.chunks()[at].section.offset, error.what());
    }
    instructions += chunk.instructions;
    if (progress.due()) progress.show(all != 0 ? std::min(instructions, all) : instructions, 0, 0, all);
    stopped = stops != nullptr && at + 1 < trace.chunks().size() && !replay.over() && stops();
  }
  if (next.valid()) next.wait();
  if (!replay.over() && !stopped) trace.require_undamaged();
  return stopped;
}

}  // namespace simrun::cli
