// Hot paths as code of the host (decision 34). What BasicModelSink::ShortWay does for each reference by a description of
// it, this has as instructions: where its words are, its kind and size, the shape of level 1 are constants in them. The
// same for BasicModelSink::WatchedWay, where a TLB and a prefetcher see every access (decision 36).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "instr/channel/decoded_paths.h"
#include "instr/channel/memory_names.h"
#include "instr/channel/replay.h"
#include "sim/cache/cache.h"
#include "sim/prefetch/stride.h"

namespace simrun::cli {

// What the code works on: it begins with this in registers, and leaves with it in memory.
struct CompiledRun {
  channel::CodeRun paths;
  uint64_t clock = 0;  // of level 1
  sim::Cache::Recent *fetch_slots = nullptr, *data_slots = nullptr;
  sim::Cache::Guess *fetch_guesses = nullptr, *data_guesses = nullptr;
  // A reference that a look at level 1 does not show to be a hit. They may change `clock`.
  void (*miss)(CompiledRun*, channel::ReferenceKind, uint64_t line) noexcept = nullptr;
  // Of several lines or a rare kind: the one with this index of the path at `paths.at`. Behind its references come its
  // special operands.
  void (*make)(CompiledRun*, uint32_t reference) noexcept = nullptr;
  // All references of the special operand with this index, which nothing has counted yet.
  void (*make_special)(CompiledRun*, uint32_t special) noexcept = nullptr;
  void* maker = nullptr;
  // With Level1::is_watched. In place of miss(): of this reference of the path at `paths.at`.
  void (*miss_of)(CompiledRun*, uint32_t reference, uint64_t line) noexcept = nullptr;
  // A page that its side's shortcut does not have.
  void (*look_up_page)(CompiledRun*, uint32_t is_data, uint64_t page) noexcept = nullptr;
  static constexpr uint64_t kNoLine = uint64_t{1} << 63;  // nor page
  sim::Cache::Shortcut pages[2] = {};  // of fetches, of data
  sim::prefetch::Stride::Entry* strides = nullptr;
  uint64_t kept = 0, data_line = 0;  // for the code
  // With Level1::is_named. MemoryNames::distance() of an address for which `names` has no answer.
  const channel::MemoryNames::Translation* names = nullptr;
  uint64_t (*distance)(CompiledRun*, uint32_t is_write, uint64_t address) noexcept = nullptr;
};

class CompiledPaths {
 public:
  // Of whose references the code is: what is the same for all cores.
  struct Level1 {
    uint32_t line_shift;
    uint64_t fetch_mask, data_mask;  // Cache::Shortcut::guess_mask
    uint64_t tag;                    // of the process, in addresses
    bool split;                      // fetches and data have caches of their own
    bool is_named = false;           // memory has names, which lines are of (docs/shared-memory.md); no tag
    // More than level 1 sees every access. What the code leaves to others is given with its instruction, then.
    bool is_watched = false;
    bool has_tlb = false, has_stride = false;  // of data, in level 1
    uint32_t page_shift = 0;                   // binary logarithm of the lines of a page
    uint64_t fetched_page_mask = 0, data_page_mask = 0;
    bool operator==(const Level1&) const = default;
  };

  // How much code there is: `bytes` at a time, half for what is executed, half for what rarely is (references that miss,
  // constants), of paths that were executed `executions` times. When that is full, all begins anew for paths that are
  // `hotter` times as hot, and when it is full again, that was all. (Python's hot paths take 2 MiB of the first half;
  // cc1plus would take 24, and be slower than without code.) Others than these are for tests.
  struct Room {
    size_t bytes = size_t{8} << 20;
    uint32_t executions = 64, hotter = 256;
  };

  // For paths of numbers below `capacity`. Where the host gives no memory for code, no path ever has any.
  CompiledPaths(const Level1& level1, uint64_t capacity, const Room& room);
  ~CompiledPaths();
  CompiledPaths(const CompiledPaths&) = delete;
  CompiledPaths& operator=(const CompiledPaths&) = delete;

  // A special operand that the code makes as any reference, and counts with its path.
  static bool is_inline(const border::OperandDescriptor& o, uint32_t line_shift) {
    return channel::is_plain_of_fs(o) && o.size <= 1u << line_shift;
  }
  const Level1& level1() const { return level1_; }
  // `word`: of a path that was decoded.
  bool has_code(uint64_t word) const { return code_[word] != 0; }
  // An execution of a path that has no code. Hot paths get some.
  void executed(uint64_t word, const channel::DecodedPath& path) {
    if (++executions_[word] >= room_.executions) [[unlikely]]
      compile(word, path);
  }
  // Both, before an execution.
  bool has_code_now(uint64_t word, const channel::DecodedPaths& paths) {
    if (has_code(word)) return true;
    executed(word, paths[word]);
    return false;
  }
  // From `paths.at`, a path that has code, up to `paths.end`, to what has none, or until `paths.left` is used up.
  void run(CompiledRun& run) const { enter_(&run); }

 private:
  class Emitter;

  void compile(uint64_t word, const channel::DecodedPath& path);

  Level1 level1_;
  uint64_t capacity_;
  uint32_t* code_;        // by path: offset in the emitter's memory; 0: none, which leaves
  uint32_t* executions_;  // by path, without code
  Room room_;
  bool was_full_ = false;
  std::unique_ptr<Emitter> emitter_;
  void (*enter_)(CompiledRun*) = nullptr;
};

}  // namespace simrun::cli
