#include "instr/engine/instrument/ring_writer.h"

#include <emmintrin.h>
#include <linux/futex.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/instrument/budget.h"

namespace simrun::engine {
namespace {

// Behind `limit`: what may be stored before the next superblock looks at it, with what that has itself, and an id word.
uint64_t slack_bytes() { return (most_unchecked_words() + border::kMaxSuperblockWords + 8) * 8; }

uint64_t ring_chunk(const ThreadContext* c, uint64_t sequence) {
  const border::ProcessHeader& h = *g_process.header;
  return c->ring_base + (sequence % h.ring_chunks) * h.ring_chunk_bytes;
}

// Where the words of the current chunk are stored.
uint64_t chunk_base(const ThreadContext* c) {
  return c->stage != 0 ? c->stage : ring_chunk(c, c->ring.produced.load(std::memory_order_relaxed));
}
uint64_t chunk_end(const ThreadContext* c) { return chunk_base(c) + g_process.header->ring_chunk_bytes; }

int32_t simulator() { return __atomic_load_n(&g_process.header->simulator_pid, __ATOMIC_RELAXED); }

// Blocks until the next chunk is free. The time-out only serves to notice a dead simulator, whose number says something in its own namespace only.
void wait_for_space(ThreadContext* c) {
  const border::ProcessHeader& h = *g_process.header;
  const uint64_t next = c->ring.produced.load(std::memory_order_relaxed) + 1;
  if (next - c->ring.consumed.load(std::memory_order_acquire) < h.ring_chunks) return;
  if (simulator() == 0) return c->ring.consumed.store(next - 1);   // it has taken its leave
  const auto before = static_cast<border::ThreadState>(c->ring.state.load());
  set_thread_state(c, border::ThreadState::kWaitingForSpace);
  for (;;) {
    c->ring.producer_sleeps.store(1, std::memory_order_seq_cst);
    if (next - c->ring.consumed.load(std::memory_order_seq_cst) < h.ring_chunks) break;
    call_consumer();
    const timespec timeout{0, 100'000'000};
    raw_syscall(SYS_futex, word(&c->ring.producer_sleeps), FUTEX_WAIT, 1, word(&timeout));
    // Nobody reads any more: the application goes on.
    const bool gone = simulator() == 0 || (c->pid_namespace == 0 && simulator_is_gone());
    if (gone || h.engine_state.load(std::memory_order_acquire) >= 2) c->ring.consumed.store(next - 1);
  }
  c->ring.producer_sleeps.store(0, std::memory_order_relaxed);
  set_thread_state(c, before);
}

// Whole lines go past the caches, which would have to fetch them from the reader's first; the rest, and little, through them.
void copy_words(uint64_t to, uint64_t from, uint64_t bytes) {
  constexpr uint64_t kLine = 64, kLittle = 8 * kLine;
  auto* at = reinterpret_cast<char*>(to);
  auto* source = reinterpret_cast<const char*>(from);
  if (bytes >= kLittle) {
    const uint64_t head = -to % kLine;
    std::memcpy(at, source, head);
    at += head, source += head, bytes -= head;
    for (; bytes >= kLine; at += kLine, source += kLine, bytes -= kLine)
      for (uint64_t k = 0; k < kLine; k += sizeof(__m128i))
        _mm_stream_si128(reinterpret_cast<__m128i*>(at + k), _mm_load_si128(reinterpret_cast<const __m128i*>(source + k)));
    _mm_sfence();   // such stores are not ordered otherwise
  }
  std::memcpy(at, source, bytes);
}

void drop_words(ThreadContext* c) {
  const uint64_t buffer = c->buffer.load(std::memory_order_relaxed);
  g_process.header->dropped_words.fetch_add((buffer - c->ring_base) / 8, std::memory_order_relaxed);
  c->buffer.store(c->ring_base, std::memory_order_relaxed);
}

void switch_chunk(ThreadContext* c) {
  const border::ProcessHeader& h = *g_process.header;
  CHECK(c->buffer.load(std::memory_order_relaxed) <= chunk_end(c));
  const bool counted = h.mode_switches != 0 && c->mode == border::Mode::kTrace;
  if (counted) count_traced(c);
  if (h.drops_streams != 0) {
    drop_words(c);
    if (counted) c->traced_to = c->ring_base;
    return set_normal_limit(c);
  }
  publish_words(c);
  const uint64_t produced = c->ring.produced.load(std::memory_order_relaxed);
  const uint64_t used = c->buffer.load(std::memory_order_relaxed) - chunk_base(c);
  c->ring.fill[produced % h.ring_chunks].store(static_cast<uint32_t>(used / 8), std::memory_order_release);
  wait_for_space(c);
  const uint64_t next = ring_chunk(c, produced + 1);
  c->copied = c->stage != 0 ? c->stage : next;
  c->buffer.store(c->copied, std::memory_order_release);
  c->ring.written.store(next, std::memory_order_release);
  c->ring.produced.store(produced + 1, std::memory_order_release);
  if (counted) c->traced_to = c->buffer.load(std::memory_order_relaxed);
  set_normal_limit(c);
  wake_consumer();
}

}  // namespace

// Another process may have taken the place of a simulator that was killed (instr/host/guardian.cpp), so the number is read anew.
bool simulator_is_gone() { return is_gone(static_cast<uint64_t>(simulator())); }

uint32_t most_unchecked_words() { return std::min(g_process.header->ring_chunk_bytes / 8 / 16, 512u); }

void start_ring(ThreadContext* c) {
  c->ring.tid = 0;   // until it runs
  c->published = 0;
  start_budget(c);
  if (!g_process.has_streams()) {
    c->stage = 0;
    c->buffer = 0;
    c->normal_limit = ~0ull;
    return;
  }
  c->ring_base = reinterpret_cast<uint64_t>(g_process.base) + g_process.header->rings_offset +
                 static_cast<uint64_t>(c->slot) * g_process.header->ring_chunk_bytes * g_process.header->ring_chunks;
  const border::ProcessHeader& h = *g_process.header;
  const bool staged = g_process.has_reader() && h.live_words == 0;
  c->stage = staged ? reinterpret_cast<uint64_t>(g_process.base) + h.stages_offset + uint64_t{c->slot} * h.ring_chunk_bytes : 0;
  c->ring.consumed = 0;
  c->ring.produced = 0;
  c->hand_overs = 0;
  c->waits_on = 0;
  c->ring.written = c->ring_base;
  c->copied = staged ? c->stage : c->ring_base;
  c->buffer = c->copied;
  c->traced_to = c->copied;
  set_normal_limit(c);
}

border::ThreadState end_ring(ThreadContext* c) {
  if (g_process.has_reader()) return border::ThreadState::kDead;
  if (g_process.has_streams()) drop_words(c);
  return border::ThreadState::kFree;
}

void set_normal_limit(ThreadContext* c) {
  if (g_process.tracing())
    c->normal_limit = chunk_end(c) - slack_bytes();
  else
    c->normal_limit = g_process.counting() ? budget_limit(c) : ~0ull;
}

void restore_limit(ThreadContext* c) {
  c->limit.store(c->normal_limit, std::memory_order_seq_cst);
  c->minus_limit.store(-c->normal_limit, std::memory_order_seq_cst);
  c->indirect_mask.store(kIndirectMask, std::memory_order_seq_cst);
}

void switch_chunk_if_full(ThreadContext* c) {
  if (g_process.tracing() && c->buffer.load(std::memory_order_relaxed) >= chunk_end(c) - slack_bytes()) switch_chunk(c);
}

void publish_words(ThreadContext* c) {
  if (c->stage == 0) return;
  const uint64_t end = c->buffer.load(std::memory_order_relaxed);
  if (end == c->copied) return;
  CHECK(c->copied < end && end < chunk_end(c));
  const uint64_t to = ring_chunk(c, c->ring.produced.load(std::memory_order_relaxed)) + (c->copied - c->stage);
  const uint64_t bytes = end - c->copied;
  copy_words(to, c->copied, bytes);
  c->copied = end;
  c->ring.written.store(to + bytes, std::memory_order_release);
}

uint64_t place_in_stream(const ThreadContext* c) {
  const uint64_t chunk = c->ring.produced.load(std::memory_order_relaxed);
  return chunk * g_process.header->ring_chunk_bytes + (c->ring.written.load(std::memory_order_relaxed) - ring_chunk(c, chunk));
}

void note_hand_over(ThreadContext* c, uint64_t object, uint64_t units, uint64_t began, uint64_t time, uint64_t place) {
  const uint64_t number = c->hand_overs.load(std::memory_order_relaxed);
  auto* const all = reinterpret_cast<border::HandOver*>(reinterpret_cast<char*>(g_process.base) + g_process.header->hand_overs_offset);
  border::HandOver& h = all[uint64_t{c->slot} * border::kHandOvers + number % border::kHandOvers];
  h.object.store(object, std::memory_order_relaxed);
  h.time.store(time, std::memory_order_relaxed);
  h.place.store(place, std::memory_order_relaxed);
  h.units.store(units, std::memory_order_relaxed);
  h.began.store(began, std::memory_order_relaxed);
  c->hand_overs.store(number + 1, std::memory_order_seq_cst);
}

void append_words(ThreadContext* c, border::Event event, const uint64_t* payload, uint32_t count) {
  if (!g_process.has_streams()) return;
  if (event != border::Event::kRetired && c->retired.load(std::memory_order_relaxed) != c->reported_retired) {
    c->reported_retired = c->retired.load(std::memory_order_relaxed);
    append_words(c, border::Event::kRetired, &c->reported_retired, 1);
  }
  uint64_t at = c->buffer.load(std::memory_order_relaxed);
  // Never quite to the end: a buffer pointer there would look to the consumer like a switch that is going on.
  if (at + 8 * (count + 1) >= chunk_end(c)) {
    switch_chunk(c);
    at = c->buffer.load(std::memory_order_relaxed);
  }
  CHECK(at + 8 * (count + 1) < chunk_end(c));
  auto* words = reinterpret_cast<uint64_t*>(at);
  words[0] = border::event_word(event, count);
  for (uint32_t k = 0; k < count; ++k) words[k + 1] = payload[k];
  c->buffer.store(at + 8 * (count + 1), std::memory_order_release);
  publish_words(c);
}

void append_event(ThreadContext* c, border::Event event, std::initializer_list<uint64_t> payload) {
  append_words(c, event, payload.begin(), static_cast<uint32_t>(payload.size()));
}

void append_path(ThreadContext* c, uint32_t path, uint32_t words) {
  const uint64_t at = c->buffer.load(std::memory_order_relaxed);
  *reinterpret_cast<uint64_t*>(at) = path;
  c->buffer.store(at + 8 * (words + 1), std::memory_order_release);
  publish_words(c);
}

void set_thread_state(ThreadContext* c, border::ThreadState state) {
  c->ring.state.store(static_cast<uint32_t>(state), std::memory_order_seq_cst);
  // Whoever only counts does not wait for anyone's state.
  if (g_process.header->mode == border::Mode::kTrace && g_process.has_reader()) wake_consumer();
}

void wake_consumer() {
  if (g_process.header->consumer_sleeps.load(std::memory_order_seq_cst) == border::kConsumerSleeps) call_consumer();
}

void call_consumer() {
  auto& sleeps = g_process.header->consumer_sleeps;
  if (sleeps.load(std::memory_order_seq_cst) == border::kConsumerRuns) return;
  sleeps.store(border::kConsumerRuns, std::memory_order_relaxed);
  raw_syscall(SYS_futex, word(&sleeps), FUTEX_WAKE, 1);
}

}  // namespace simrun::engine
