// The smallest sink, and the description of all: what Merge<Sink> calls (merge.h has further, optional members).
#pragma once

#include <cstdint>
#include <span>

#include "instr/channel/reference.h"
#include "instr/channel/thread_statistics.h"

namespace simrun::channel {

// Counts only: Merge keeps ThreadStatistics itself, so plain references are not even evaluated.
class CountingSink final {
 public:
  // False: fetch() and data() are never called.
  static constexpr bool kWantsReferences = false;

  // A thread becomes eligible, in the order of virtual time. The result is passed back with each of its references (a
  // core, say).
  uint32_t start_thread(const ThreadReport& thread) { return thread.index; }
  // `line`: address / line size of the PathTable. One call for each run of instructions on one line.
  void fetch(uint32_t /*handle*/, uint64_t /*line*/) {}
  // Byte address and size; `kind` is never kFetch.
  // A sink may also have event(handle, border::Event, payload), and after_path(handle, words, PathTable).
  // The latter is called after the references of a path that no fault cut short.
  void data(uint32_t /*handle*/, ReferenceKind /*kind*/, uint64_t /*address*/, uint32_t /*bytes*/) {}
  void forget_paths(uint32_t /*process*/) {}
  // All iterations of a repeated string instruction at once (replay.h, TakesIterations).
  uint64_t iterations(uint32_t /*handle*/, std::span<const StringReference> /*first*/, int64_t /*step*/, uint64_t most,
                      uint64_t /*pc*/) {
    return most;
  }
  // Many paths at once (replay.h, TakesTogether): only the thread's statistics are wanted.
  template <class Take>
  [[gnu::always_inline]] bool take_together(uint32_t /*handle*/, Take take) {
    Way way;
    take(way);
    return true;
  }

 private:
  struct Way {
    void plain(const Reference* /*from*/, const Reference* /*to*/, const uint64_t* /*words*/) {}
    template <class Do>
    void special(Do make) {
      make();
    }
    void count(const PlainCounts& /*counts*/) {}
  };
};

}  // namespace simrun::channel
