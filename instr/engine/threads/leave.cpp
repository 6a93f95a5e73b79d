#include "instr/engine/threads/leave.h"

#include <linux/futex.h>
#include <sys/mman.h>

#include "instr/engine/context/engine_memory.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/context/signal_mask.h"
#include "instr/engine/dispatch/stable_code.h"
#include "instr/engine/instrument/budget.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/signals/signals.h"
#include "instr/engine/signals/go_native.h"

namespace simrun::engine {
namespace {

using border::Leaving;

uint32_t value(Leaving l) { return static_cast<uint32_t>(l); }

void wait_while(Leaving what) {
  const timespec timeout{0, 100'000'000};
  raw_syscall(SYS_futex, word(&g_process.header->leaving), FUTEX_WAIT, value(what), word(&timeout));
}

void set(Leaving what) {
  g_process.header->leaving.store(value(what), std::memory_order_seq_cst);
  raw_syscall(SYS_futex, word(&g_process.header->leaving), FUTEX_WAKE, 1u << 30);
}

// False: the thread is to stay.
bool wait_for_others() {
  auto& h = *g_process.header;
  h.parked.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    const uint32_t now = h.leaving.load(std::memory_order_seq_cst);
    if (now >= value(Leaving::kGo)) return true;
    if (now == value(Leaving::kNo)) break;
    wait_while(Leaving::kPark);
    uint32_t park = value(Leaving::kPark);
    if (simulator_is_gone() && h.leaving.compare_exchange_strong(park, value(Leaving::kNo))) set(Leaving::kNo);
  }
  h.parked.fetch_sub(1, std::memory_order_seq_cst);
  return false;
}

// For the simulator, which takes it away when all threads are gone: in the place of the list of the application's mappings.
void list_engine_memory() {
  constexpr uint32_t kMost = 4096;
  auto& h = *g_process.header;
  auto* const list = reinterpret_cast<border::AddressRange*>(g_process.base + h.app_mappings_offset);
  uint32_t count = 0;
  border::AddressRange part;
  for (uint64_t at = 0; count < kMost && find_engine_memory(at, ~0ull, part); at = part.base + part.bytes) list[count++] = part;
  h.app_mappings = count;
}

// By the first that comes; the others wait for it.
void give_process_back_once() {
  auto& h = *g_process.header;
  uint32_t go = value(Leaving::kGo);
  if (h.leaving.compare_exchange_strong(go, value(Leaving::kRestore))) {
    list_engine_memory();
    stop_protecting();
    give_process_back();
    set(Leaving::kGone);
  }
  while (h.leaving.load(std::memory_order_seq_cst) != value(Leaving::kGone)) wait_while(Leaving::kRestore);
}

// Attached in a call and not back in it yet: what restart_syscall goes on with is forgotten at the rt_sigreturn of leaving.
void begin_call_again(ThreadContext* c) {
  uint64_t& number = c->app.gpr[kRax];
  if (c->call_to_restart != 0 && number == SYS_restart_syscall) number = c->call_to_restart;
}

}  // namespace

void leave_engine(ThreadContext* c) {
  const uint64_t mask = block_signals();
  if (c->pending.number.load(std::memory_order_relaxed) != 0) return;
  void* memory = map_engine_memory(sizeof(NativeState));
  set_thread_state(c, border::ThreadState::kWaitingInEngine);
  if (memory == MAP_FAILED || !wait_for_others()) {
    if (memory != MAP_FAILED) unmap_engine_memory(memory, sizeof(NativeState));
    set_thread_state(c, border::ThreadState::kRunning);
    set_signal_mask(mask);
    return;
  }
  auto& state = *static_cast<NativeState*>(memory);
  c->app_mask = mask;
  begin_call_again(c);
  fill_native_state(c, state);
  end_budget(c);
  append_event(c, border::Event::kThreadEnd, {});
  give_process_back_once();
  set_thread_state(c, end_ring(c));
  go_native(state);
}

}  // namespace simrun::engine
