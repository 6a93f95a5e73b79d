// One execution of a path, turned into calls of a sink and into counts. The loop over plain references is the hot one
// of the whole reader: no branch but the fetch/data one, 16 bytes of description per reference. Measured by
// bench/channel/merge_benchmark.cpp. Many executions in a row: PathsTogether, with counts in registers.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "instr/channel/decoded_paths.h"
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

// A sink that knows at once what many iterations of a repeated string instruction come to:
//   uint64_t iterations(uint32_t handle, std::span<const StringReference> first, int64_t step, uint64_t most, uint64_t pc)
//       takes up to `most` iterations of the instruction at `pc`, of which the first makes the references `first` and each
//       next one those `step` bytes further; returns how many it took, which may be none
template <class Sink>
concept TakesIterations = requires(Sink& s, std::span<const StringReference> first) {
  { s.iterations(0u, first, int64_t{}, uint64_t{}, uint64_t{}) } -> std::same_as<uint64_t>;
};

// A repeated string instruction, for such a sink. Returns its iterations.
template <class Sink>
uint64_t replay_string(const SpecialOperand* special, const uint64_t* words, ReplayState& thread, Sink& sink) {
  const uint32_t operands = 1 + special->interleaved;
  const StringRun run = string_run(special->operand, words);
  std::array<StringReference, 2> references;
  for (uint64_t i = 0; i < run.iterations;) {
    for (uint32_t k = 0; k < operands; ++k) {
      const border::OperandDescriptor& o = special[k].operand;
      references[k] = {to_reference_kind(o.kind),
                       OperandAddress(o, words, thread.bases).at(i * static_cast<uint64_t>(run.step)), o.size};
    }
    const bool wraps = (special->operand.flags & border::kAddress32) != 0;
    const std::span<const StringReference> all(references.data(), operands);
    uint64_t taken =
        wraps ? 0 : sink.iterations(thread.handle, all, run.step, run.iterations - i, special->pc);
    if (taken == 0) {
      for (const StringReference& r : all) put_data(sink, thread.handle, r.kind, r.address, r.bytes, special->pc);
      taken = 1;
    }
    for (const StringReference& r : all) count_reference(thread.statistics, r.kind, taken);
    i += taken;
  }
  return run.iterations;
}

// A special operand, or two that alternate; returns how many.
template <class Sink>
uint32_t replay_operand(const SpecialOperand& special, const uint64_t* words, ReplayState& thread, Sink& sink) {
  const auto emit = [&](border::OperandKind operand_kind, uint64_t address, uint32_t bytes) {
    const ReferenceKind kind = to_reference_kind(operand_kind);
    count_reference(thread.statistics, kind);
    put_data(sink, thread.handle, kind, address, bytes, special.pc);
  };
  uint64_t iterations;
  if constexpr (TakesIterations<Sink>)
    iterations = special.operand.form == border::OperandForm::kRepeatString
                     ? replay_string(&special, words, thread, sink)
                     : expand_special(&special, words, thread.bases, emit);
  else
    iterations = expand_special(&special, words, thread.bases, emit);
  thread.statistics.string_iterations += iterations;
  return 1 + special.interleaved;
}

// Plain references with the special operands at their places between them: program order.
template <class Sink>
[[gnu::noinline]] void replay_special(const DecodedPath& path, uint32_t from, const uint64_t* words,
                                      ReplayState& thread, Sink& sink) {
  for (uint32_t i = 0; i < path.special_count;) {
    const SpecialOperand& special = path.specials[i];
    if constexpr (Sink::kWantsReferences) replay_plain(path, from, special.position, words, thread.handle, sink);
    from = special.position;
    i += replay_operand(special, words, thread, sink);
  }
  if constexpr (Sink::kWantsReferences) replay_plain(path, from, path.reference_count, words, thread.handle, sink);
}

//   void begin_path(uint32_t handle, uint64_t instructions)   before the references of a path, or of what was executed of one
template <class Sink>
concept HearsOfBeginnings = requires(Sink& s) { s.begin_path(0u, uint64_t{}); };

// One execution of a path whose first `skip` references are left out. Instructions are counted apart.
inline void count_path(ThreadStatistics& s, const DecodedPath& path, uint32_t skip) {
  ++s.paths;
  s.loads += path.loads;
  s.stores += path.stores;
  s.prefetches += path.prefetches;
  s.flushes += path.flushes;
  s.fetch_lines += path.fetches - skip;
}

// `words`: the block word and the address words. A fetch of the line that the thread fetched last is left out, so that
// the number of fetches does not depend on where superblocks were cut.
template <class Sink>
inline void replay(const DecodedPath& path, const uint64_t* words, ReplayState& thread, Sink& sink) {
  const uint32_t skip = path.first_line == thread.last_line ? 1 : 0;
  thread.last_line = path.last_line;
  thread.statistics.instructions += path.instructions;
  count_path(thread.statistics, path, skip);
  if constexpr (HearsOfBeginnings<Sink>) sink.begin_path(thread.handle, path.instructions);
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

// A sink with a way for many paths in a row, during which nobody asks it anything else:
//   bool take_together(uint32_t handle, Take take)   calls take(way) and returns true, or returns false: not now
//   way.plain(const Reference* from, const Reference* to, const uint64_t* words)   plain references of one execution; as
//                                                        a fourth argument, if it takes one, PlainReferences::pcs
//   way.special(Do make)   make() calls the sink itself
//   way.count(const PlainCounts&)   at the end: of all that plain() got
// and, when it has code of its own for some paths:
//   bool way.has_code(uint64_t word, const DecodedPaths& paths)   asked before an execution of path `word`
//   CodeRun& way.code_run(); way.run_code()   executes that path and those that follow in the words, while they have code
//   way.throw_failure()   throws what went wrong in it
template <class Sink>
concept TakesTogether = requires(Sink& s) { s.take_together(0u, [](auto&) {}); };
template <class Way>
concept HasCode = requires(Way& way, const DecodedPaths& paths) { way.has_code(uint64_t{}, paths); };

// What the code of a way works on.
struct CodeRun {
  const uint64_t *at = nullptr, *end = nullptr;  // words; `at` goes on by whole paths
  int64_t left = 0;                              // instructions, until it is time for something else
  uint64_t last_line = 0;                        // ReplayState
  alignas(16) uint32_t sums[8] = {};             // DecodedPath::words to ::modifications, but the second counts paths
  uint32_t skipped = 0;                          // fetches that were left out
  ReplayState* thread = nullptr;
  uint64_t fs = 0;  // its base
};

// The numbers of many executions of paths, each path's eight (DecodedPath::words to ::modifications) added at once.
// Without overflow: words in hand are of one chunk, which has far less than 65536 of them.
class PathSums {
 public:
  void add(const DecodedPath& path) {
#if defined(__SSE2__)
    const __m128i eight = _mm_load_si128(reinterpret_cast<const __m128i*>(&path.words));
    low_ = _mm_add_epi32(low_, _mm_unpacklo_epi16(eight, _mm_setzero_si128()));
    high_ = _mm_add_epi32(high_, _mm_unpackhi_epi16(eight, _mm_setzero_si128()));
#else
    for (uint32_t i = 0; i < 8; ++i) sums_[i] += (&path.words)[i];
#endif
    ++paths_;
  }
  void add(const CodeRun& run) {
#if defined(__SSE2__)
    low_ = _mm_add_epi32(low_, _mm_load_si128(reinterpret_cast<const __m128i*>(run.sums)));
    high_ = _mm_add_epi32(high_, _mm_load_si128(reinterpret_cast<const __m128i*>(run.sums + 4)));
#else
    for (uint32_t i = 0; i < 8; ++i) sums_[i] += run.sums[i];
#endif
    paths_ += run.sums[1];
  }
  // `skipped`: fetches among them that were left out.
  PlainCounts fold(ThreadStatistics& s, uint32_t skipped) const {
    alignas(16) std::array<uint32_t, 8> sums;
#if defined(__SSE2__)
    _mm_store_si128(reinterpret_cast<__m128i*>(sums.data()), low_);
    _mm_store_si128(reinterpret_cast<__m128i*>(sums.data() + 4), high_);
#else
    sums = sums_;
#endif
    const auto [words, specials, fetches, loads, stores, prefetches, flushes, modifications] = sums;
    s.paths += paths_;
    s.loads += loads;
    s.stores += stores;
    s.prefetches += prefetches;
    s.flushes += flushes;
    s.fetch_lines += fetches - skipped;
    return {fetches - skipped, loads - modifications, stores - modifications, modifications};
  }

 private:
#if defined(__SSE2__)
  __m128i low_ = _mm_setzero_si128(), high_ = _mm_setzero_si128();
#else
  std::array<uint32_t, 8> sums_{};
#endif
  uint32_t paths_ = 0;
};
static_assert(offsetof(DecodedPath, words) == 48 && offsetof(DecodedPath, modifications) == 62);

// The path at `at`, which is not `end`: its words, or 0 if it is none, not complete, or not for a loop over many.
inline uint32_t path_length(DecodedPaths& paths, const uint64_t* at, const uint64_t* end) {
  uint32_t length = paths.length(*at);
  if (length == 0) [[unlikely]] {
    if (static_cast<uint32_t>(*at) < border::kFirstPath) return 0;
    length = paths.decode_length(*at);
    if (length == 0) return 0;
  }
  return end - at < length ? 0 : length;
}

// Executions in a row of paths of one thread. What was counted is in the thread's statistics at the end, even if that
// comes by an exception.
template <class Way>
class PathsTogether {
 public:
  PathsTogether(ReplayState& thread, Way& way) : thread_(thread), way_(way), last_line_(thread.last_line) {}
  PathsTogether(const PathsTogether&) = delete;
  PathsTogether& operator=(const PathsTogether&) = delete;
  ~PathsTogether() {
    way_.count(sums_.fold(thread_.statistics, skipped_));
    thread_.statistics.instructions += instructions_;
    thread_.last_line = last_line_;
  }
  uint64_t instructions() const { return instructions_; }

  template <class Sink>
  [[gnu::always_inline]] void replay(const DecodedPath& path, const uint64_t* words, Sink& sink) {
    const uint32_t skip = path.first_line == last_line_ ? 1 : 0;
    last_line_ = path.last_line;
    instructions_ += path.instructions;
    if (path.special_count != 0) [[unlikely]] {
      count_path(thread_.statistics, path, skip);
      return way_.special([&] { replay_special(path, skip, words, thread_, sink); });
    }
    sums_.add(path);
    skipped_ += skip;
    const Reference *const from = path.references + skip, *const to = path.references + path.reference_count;
    if constexpr (requires { way_.plain(from, to, words, path.pcs); })
      way_.plain(from, to, words, path.pcs + skip);
    else
      way_.plain(from, to, words);
  }
  // All paths from `at` up to `end`, to what is none, or until `turn` instructions are over. Where it stopped.
  template <class Sink>
  [[gnu::always_inline]] const uint64_t* run(DecodedPaths& paths, const uint64_t* at, const uint64_t* end, uint64_t turn,
                                             Sink& sink) {
    while (at != end && instructions_ < turn) {
      const uint32_t length = path_length(paths, at, end);
      if (length == 0) break;
      if constexpr (HasCode<Way>) {
        if (way_.has_code(*at, paths)) {
          at = run_code(at, end, turn);
          continue;
        }
      }
      replay(paths[*at], at, sink);
      at += length;
    }
    return at;
  }

 private:
  // `at`: at a path that the way has code for.
  const uint64_t* run_code(const uint64_t* at, const uint64_t* end, uint64_t turn) {
    CodeRun& run = way_.code_run();
    // Member by member: a temporary would be copied by loads that wait for narrower stores.
    run.at = at, run.end = end, run.left = static_cast<int64_t>(turn - instructions_);
    run.last_line = last_line_;
    std::fill(std::begin(run.sums), std::end(run.sums), 0u);
    run.skipped = 0;
    run.thread = &thread_;
    run.fs = thread_.bases.fs;
    way_.run_code();
    instructions_ = turn - static_cast<uint64_t>(run.left);
    last_line_ = run.last_line;
    skipped_ += run.skipped;
    sums_.add(run);
    way_.throw_failure();
    return run.at;
  }

  ReplayState& thread_;
  Way& way_;
  uint64_t last_line_;
  uint64_t instructions_ = 0;
  uint32_t skipped_ = 0;
  PathSums sums_;
};

}  // namespace simrun::channel
