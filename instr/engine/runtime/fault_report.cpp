#include "instr/engine/runtime/fault_report.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/dispatch/thread_events.h"

namespace simrun::engine {
namespace {

std::atomic<bool> g_reported;

class Text {
 public:
  Text(char* at, size_t bytes) : at_(at), left_(bytes) {}
  void put(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    std::va_list arguments;
    va_start(arguments, format);
    const int n = std::vsnprintf(at_, left_, format, arguments);
    va_end(arguments);
    if (n < 0 || static_cast<size_t>(n) >= left_) return;  // full: cut here
    at_ += n, left_ -= static_cast<size_t>(n);
  }

 private:
  char* at_;
  size_t left_;
};

const char* name_of(border::ThreadState state) {
  static constexpr const char* kNames[] = {
      "free", "starting", "running", "in the kernel", "waiting for ring space", "waiting in the engine", "ended", "in a short call"};
  return static_cast<size_t>(state) < std::size(kNames) ? kNames[static_cast<size_t>(state)] : "unknown";
}

const char* name_of(border::Mode mode) {
  return mode == border::Mode::kNull ? "null" : mode == border::Mode::kCount ? "count" : "trace";
}

// A thread that translates is done in far less than this; one that gave up while it translated, this one among them, never is.
bool lock_within_50_ms() {
  for (int tries = 0; tries < 50; ++tries) {
    if (g_translation_lock.try_lock()) return true;
    const timespec millisecond{0, 1'000'000};
    raw_syscall(SYS_nanosleep, word(&millisecond));
  }
  return false;
}

void put_superblock(Text& text, uint64_t pc) {
  if (!lock_within_50_ms()) return text.put("  superblock: unknown, the translation lock is held\n");
  const SuperblockPlace place = find_superblock(AppAddress{pc});
  g_translation_lock.unlock();
  if (!place.found) return text.put("  superblock: none has been translated at this pc\n");
  text.put("  superblock: %#lx to %#lx, %u instructions, code cache +%#x to +%#x\n", raw(place.pc), raw(place.end),
           place.instructions, place.code, place.code_end);
}

// The newest last; `calls`: system calls and signals only, which are what the events of a thread mostly are not.
void put_events(Text& text, const ThreadContext& c, uint32_t most) {
  const uint32_t last = c.last_event, first = last > 32 ? last - 32 : 0;
  uint32_t from = last;
  for (uint32_t shown = 0; from > first && shown < most; ++shown) --from;
  for (; from < last; ++from) {
    const auto& e = c.events[from % 32];
    if (e.kind >= kCallEvents)
      text.put("    system call %lu, first argument %#lx\n", e.kind - kCallEvents, e.value);
    else if (e.kind >= kSignalEvents)
      text.put("    signal %lu, taken at %#lx\n", e.kind - kSignalEvents, e.value);
    else if (e.kind >= kExitEvents)
      text.put("    left the code cache by an exit of kind %lu, before %#lx\n", e.kind - kExitEvents, e.value);
    else
      text.put("    left the code cache: %s, before %#lx\n",
               e.kind == kExitIndirect ? "new indirect target"
               : e.kind == kExitFault  ? "fault"
                                       : "start",
               e.value);
  }
}

void put_threads(Text& text, const ThreadContext* self) {
  const uint32_t slots = g_process.header->slots_used.load();
  uint32_t shown = 0, alive = 0;
  for (uint32_t k = 0; k < slots; ++k) {
    const ThreadContext& t = *g_process.slot(k);
    const auto state = static_cast<border::ThreadState>(t.ring.state.load());
    if (state == border::ThreadState::kFree || state == border::ThreadState::kDead) continue;
    if (++alive > 64) continue;
    ++shown;
    text.put("    thread %u%s: %s, %s the code cache, last in the engine at pc %#lx, pending signal %u\n",
             t.ring.tid.load(), &t == self ? " (this one)" : "", name_of(state),
             t.in_cache.load() != 0 ? "in" : "not in", t.app.pc, t.pending.number.load());
  }
  if (alive > shown) text.put("    and %u more\n", alive - shown);
}

}  // namespace

void write_fault_report(const char* what) {
  if (g_process.header == nullptr || g_reported.exchange(true)) return;
  border::ProcessHeader& h = *g_process.header;
  Text text(h.report, sizeof h.report);
  text.put("simrun: fault in the engine; please report it with these lines and the command\n");
  text.put("  what: %s\n", what);
  text.put("  version: %s, border %u\n", SIMRUN_VERSION, border::kVersion);
  text.put("  process %ld, thread %ld, mode %s\n", raw_syscall(SYS_getpid), raw_syscall(SYS_gettid),
           name_of(g_process.mode));
  if (h.engine_state.load() == 0) return text.put("  while the engine started: there is no thread yet\n");
  const ThreadContext* c = current_context();
  text.put("  application pc: %#lx, stack pointer %#lx (as the thread was last in the engine)\n", c->app.pc,
           c->app.gpr[kRsp]);
  put_superblock(text, c->app.pc);
  text.put("  engine: code cache at %#lx, %lu superblocks, %lu flushes, %lu faults, %lu signals\n",
           g_code_cache.execute_base(), h.statistics.superblocks.load(), h.statistics.flushes.load(),
           h.statistics.faults.load(), h.statistics.signals.load());
  text.put("  last events of this thread, the newest last:\n");
  put_events(text, *c, 32);
  text.put("  threads:\n");
  put_threads(text, c);
}

}  // namespace simrun::engine
