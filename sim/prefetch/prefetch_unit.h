// The prefetchers of one cache: what they are shown, which lines they want, and what became of the lines that they
// brought. To add a prefetcher: a class with observe() as NextLine's in a file of its own, a name in PrefetchKind
// (sim/build/machine_config.h), a line in the constructor below, a word in configs/machine_words.h.
#pragma once

#include <bit>
#include <cstdint>
#include <variant>
#include <vector>

#include "sim/prefetch/next_line.h"
#include "sim/prefetch/stream.h"
#include "sim/prefetch/stride.h"
#include "sim/state_archive.h"

namespace simrun::sim {

// What the prefetchers of a cache ask for: the algorithms alone.
class PrefetchPredictor {
 public:
  PrefetchPredictor(const std::vector<PrefetchConfig>& configs, uint32_t line_bytes)
      : page_shift_(line_bytes < kPage ? static_cast<uint32_t>(std::countr_zero(kPage / line_bytes)) : 0) {
    for (const PrefetchConfig& config : configs) {
      if (config.kind == PrefetchKind::kNextLine) prefetchers_.emplace_back(prefetch::NextLine(config));
      if (config.kind == PrefetchKind::kStride) prefetchers_.emplace_back(prefetch::Stride(config)), sees_hits_ = true;
      if (config.kind == PrefetchKind::kStream) prefetchers_.emplace_back(prefetch::Stream(config));
    }
  }

  // Those that want to see every access; the others see new lines only. Valid as long as this.
  std::vector<prefetch::Stride*> strides() {
    std::vector<prefetch::Stride*> found;
    for (auto& p : prefetchers_)
      if (auto* stride = std::get_if<prefetch::Stride>(&p)) found.push_back(stride);
    return found;
  }
  // One of them sees hits that are not new.
  bool sees_hits() const { return sees_hits_; }
  size_t size() const { return prefetchers_.size(); }
  // A demand access arrived. `is_new`: it missed, or is the first use of a prefetched line. want() is called with each line to
  // fetch; none beyond the 4 KiB page of `line`, as the hardware does not know what lies there.
  template <class Want>
  void observe(uint64_t line, uint64_t pc, bool is_new, Want want) {
    const auto within_page = [&](uint64_t l) {
      if (l != line && (l ^ line) >> page_shift_ == 0) want(l);
    };
    for (auto& p : prefetchers_) std::visit([&](auto& kind) { kind.observe(line, pc, is_new, within_page); }, p);
  }

 private:
  friend struct PrefetchUnit;
  static constexpr uint32_t kPage = 4096;
  uint32_t page_shift_;  // of lines
  bool sees_hits_ = false;
  std::vector<std::variant<prefetch::NextLine, prefetch::Stride, prefetch::Stream>> prefetchers_;
};

struct PrefetchUnit {
  PrefetchUnit(const std::vector<PrefetchConfig>& configs, uint32_t line_bytes, uint64_t slots)
      : predictor(configs, line_bytes), marked(slots), marks(slots) {}

  // Of a line that was prefetched and not used since.
  struct Mark {
    uint32_t core = 0;
    uint64_t ready = 0;  // on the clock of `core`: when the data would be here
  };
  // Something else comes into the slot, or nothing.
  void forget_mark(size_t slot) {
    unused += marked[slot];
    marked[slot] = 0;
  }
  // What is under way has come when the state is used: clocks start anew then.
  void archive(StateArchive& a) {
    for (auto& p : predictor.prefetchers_) std::visit([&](auto& kind) { a.value(kind); }, p);
    a.table(marked);
    a.table(marks);
    if (a.reads())
      for (Mark& mark : marks) mark.ready = 0;
  }
  PrefetchPredictor predictor;
  std::vector<uint8_t> marked;  // by slot: whether there is one. Apart, as it is asked for each line that leaves
  std::vector<Mark> marks;      // by slot
  uint64_t issued = 0, redundant = 0, useful = 0, late = 0, unused = 0;
};

}  // namespace simrun::sim
