#include "instr/engine/instrument/budget.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "instr/engine/context/process.h"
#include "instr/engine/instrument/ring_writer.h"

namespace simrun::engine {
namespace {

constexpr uint64_t kSlice = 16u << 20;            // so that `retired` is seen to move
constexpr uint64_t kHarvest = 1u << 31;           // counters have 32 bits, and a path is an instruction at least
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
constexpr uint32_t kWordsPerEvent = 512;          // 4 KiB: half of the smallest chunk
constexpr uint32_t kLine = 16;                    // counters in a cache line

const border::ModeSwitch* switches() {
  return reinterpret_cast<const border::ModeSwitch*>(g_process.base + g_process.header->mode_switches_offset);
}

const border::PathDescriptor* paths() {
  return reinterpret_cast<const border::PathDescriptor*>(g_process.base + g_process.header->paths_offset);
}

uint32_t* counters(ThreadContext* c) { return reinterpret_cast<uint32_t*>(reinterpret_cast<uint8_t*>(c) + border::kSlotStride); }

uint64_t retired(const ThreadContext* c) { return c->retired.load(std::memory_order_relaxed); }

// With path counts no link passes a check by (Translator::new_exit).
uint64_t most_between_checks() { return g_process.header->count_paths != 0 ? kLongestSuperblock : kMostBetweenChecks; }

uint32_t first_switch(uint32_t slot, uint32_t from) {
  const uint32_t count = std::min(g_process.header->mode_switches, border::kMaxModeSwitches);
  for (uint32_t k = from; k < count; ++k)
    if (switches()[k].slot == slot) return k;
  return kNone;
}

// A forked process has its parent's tokens: neither is alone.
bool is_alone() {
  const border::ProcessHeader& h = *g_process.header;
  return h.slots_used.load(std::memory_order_relaxed) <= 1 && h.last_token.load(std::memory_order_relaxed) == 0;
}

uint64_t report_interval() {
  const border::ProcessHeader& h = *g_process.header;
  return is_alone() || h.count_interval_threads == 0 ? h.count_interval : h.count_interval_threads;
}

// In instructions of the process since it was launched, as far as the images before had one thread.
uint64_t place_in_intervals(const ThreadContext* c) { return g_process.header->count_done + retired(c); }

void find_next_stop(ThreadContext* c) {
  const uint64_t interval = report_interval(), done = g_process.header->count_done;
  c->next_stop = interval == 0 ? std::numeric_limits<uint64_t>::max() : (place_in_intervals(c) / interval + 1) * interval - done;
  if (c->next_switch != kNone) c->next_stop = std::min(c->next_stop, switches()[c->next_switch].at);
}

// Path counters on their way into the stream. All of one superblock are in one event.
class CountWriter {
 public:
  explicit CountWriter(ThreadContext* c) : c_(c) {}
  ~CountWriter() { flush(); }
  CountWriter(const CountWriter&) = delete;
  CountWriter& operator=(const CountWriter&) = delete;
  void put(uint32_t path, uint32_t count) {
    if (count_ >= kFull && paths()[path].superblock != paths()[path - 1].superblock) flush();
    words_[count_++] = path | static_cast<uint64_t>(count) << 32;
  }

 private:
  static constexpr uint32_t kFull = kWordsPerEvent - kMostPaths;
  void flush() {
    if (count_ != 0) append_words(c_, border::Event::kPathCounts, words_, count_);
    count_ = 0;
  }
  ThreadContext* c_;
  uint32_t count_ = 0;
  uint64_t words_[kWordsPerEvent];
};

}  // namespace

void start_budget(ThreadContext* c) {
  c->mode = g_process.mode;
  c->traced = 0;
  c->retired = 0;
  c->reported_retired = 0;
  c->harvested_at = 0;
  c->string_bytes = 0;
  c->next_switch = first_switch(c->slot, 0);
  find_next_stop(c);
}

uint64_t budget_limit(const ThreadContext* c) {
  if (cut_length(c) != 0) return retired(c) + 1;
  return std::min(c->next_stop - most_between_checks() + 1, retired(c) + kSlice);
}

uint32_t cut_length(const ThreadContext* c) {
  const uint64_t left = c->next_stop - retired(c);
  return left < most_between_checks() ? static_cast<uint32_t>(std::min(left, kLongestSuperblock)) : 0;
}

namespace {

// In trace mode nobody stops at an exact instruction: a switch is due when a chunk has shown that its place is behind. Those that came and
// went within the chunk are passed over.
const border::ModeSwitch* pass_traced_switch(ThreadContext* c) {
  if (c->next_switch == kNone || retired(c) + c->traced < switches()[c->next_switch].at) return nullptr;
  count_traced(c);
  const border::ModeSwitch* due = nullptr;
  for (; c->next_switch != kNone && switches()[c->next_switch].at <= retired(c) + c->traced;
       c->next_switch = first_switch(c->slot, c->next_switch + 1))
    due = &switches()[c->next_switch];
  return due->mode == c->mode ? nullptr : due;
}

}  // namespace

const border::ModeSwitch* pass_stop(ThreadContext* c, uint64_t next_pc) {
  if (c->mode == border::Mode::kTrace) return pass_traced_switch(c);
  if (c->mode != border::Mode::kCount) return nullptr;
  CHECK(retired(c) <= c->next_stop);
  if (retired(c) - c->harvested_at >= kHarvest) report_paths(c);
  const border::ModeSwitch* due = nullptr;
  if (retired(c) == c->next_stop) {
    // A stop that is no switch is the end of an interval, of the length that held when it was set.
    if (c->next_switch == kNone || switches()[c->next_switch].at != retired(c) ||
        (report_interval() != 0 && place_in_intervals(c) % report_interval() == 0)) {
      report_paths(c);
      append_event(c, border::Event::kInterval, {retired(c), next_pc, c->string_bytes});
    }
    if (c->next_switch != kNone && switches()[c->next_switch].at == retired(c)) {
      due = &switches()[c->next_switch];
      c->next_switch = first_switch(c->slot, c->next_switch + 1);
    }
    find_next_stop(c);
  }
  set_normal_limit(c);
  return due;
}

void report_paths(ThreadContext* c) {
  c->harvested_at = retired(c);
  if (g_process.header->count_paths == 0) return;
  uint32_t* const counts = counters(c);
  const uint32_t end = g_process.header->paths.load(std::memory_order_acquire);
  static_assert(border::kFirstPath % kLine == 0);
  CountWriter out(c);
  for (uint32_t line = border::kFirstPath; line < end; line += kLine) {
    // Most lines of a large program are zeros.
    uint64_t any = 0;
    for (uint32_t k = 0; k < kLine; k += 2) any |= *reinterpret_cast<const uint64_t*>(counts + line + k);
    if (any == 0) continue;
    for (uint32_t k = line; k < line + kLine; ++k)
      if (counts[k] != 0) out.put(k, counts[k]);
    std::fill(counts + line, counts + line + kLine, 0u);
  }
}

void count_traced(ThreadContext* c) {
  const auto* at = reinterpret_cast<const uint64_t*>(c->traced_to);
  const auto* const end = reinterpret_cast<const uint64_t*>(c->buffer.load(std::memory_order_relaxed));
  while (at < end) {
    const auto id = static_cast<uint32_t>(*at);
    if (id >= border::kFirstPath) {
      c->traced += paths()[id].instructions;
      at += 1 + paths()[id].words;
    } else {
      if (id == static_cast<uint32_t>(border::Event::kCut)) c->traced += at[2];
      at += 1 + (*at >> 32);
    }
  }
  c->traced_to = reinterpret_cast<uint64_t>(at);
}

void begin_mode(ThreadContext* c, border::Mode mode) {
  if (c->mode == border::Mode::kTrace) {
    count_traced(c);
    c->retired.store(retired(c) + c->traced, std::memory_order_relaxed);
    c->traced = 0;
    c->reported_retired = retired(c);   // the paths are in the stream
    c->harvested_at = retired(c);
  } else if (c->mode == border::Mode::kCount) {
    report_paths(c);
  }
  append_event(c, border::Event::kModeSwitch, {static_cast<uint64_t>(mode), retired(c)});
  c->mode = mode;
  c->traced_to = c->buffer.load(std::memory_order_relaxed);
  find_next_stop(c);
  set_normal_limit(c);
}

void report_before_company(ThreadContext* c) {
  const border::ProcessHeader& h = *g_process.header;
  if (c->mode != border::Mode::kCount || h.count_paths == 0 || h.count_interval_threads == 0) return;
  if (retired(c) - c->harvested_at < h.count_interval_threads) return;
  report_paths(c);
  append_event(c, border::Event::kInterval, {retired(c), 0, c->string_bytes});
}

void report_before_waiting(ThreadContext* c) {
  if (!is_alone()) report_before_company(c);
}

void end_budget(ThreadContext* c) {
  if (c->mode != border::Mode::kCount) return;
  report_paths(c);
  append_event(c, border::Event::kInterval, {retired(c), 0, c->string_bytes});
}

void count_cut(ThreadContext* c, uint32_t last_path, uint32_t instructions, uint32_t counted, uint32_t blocks) {
  c->retired.store(retired(c) + instructions - counted, std::memory_order_relaxed);
  if (g_process.header->count_paths == 0) return;
  const border::PathDescriptor* const p = paths();
  const uint32_t superblock = p[last_path].superblock;
  uint32_t first = last_path;
  while (first > border::kFirstPath && p[first - 1].superblock == superblock) --first;
  for (uint32_t k = 0; k < blocks; ++k) --counters(c)[first + k];
  if (instructions != 0) append_event(c, border::Event::kPathCut, {last_path, instructions});
}

}  // namespace simrun::engine
