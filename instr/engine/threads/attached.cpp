#include "instr/engine/threads/attached.h"

#include <cstring>

#include "base/check.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/signals/signals.h"
#include "instr/engine/signals/vector_frame.h"
#include "instr/engine/threads/identity.h"
#include "instr/engine/threads/threads.h"

namespace simrun::engine {
namespace {

border::AttachedThread* table() {
  return reinterpret_cast<border::AttachedThread*>(g_process.base + g_process.header->attached_offset);
}

}  // namespace

void load_attached_state(ThreadContext* c, uint32_t index) {
  border::AttachedThread& from = table()[index];
  std::memcpy(c->app.gpr, from.gpr, sizeof c->app.gpr);
  c->app.pc = from.pc;
  c->app.flags = from.flags;
  c->app_fs_base = from.fs_base;
  c->app_gs_base = from.gs_base;
  c->app_mask = from.signal_mask;
  c->app_altstack = stack_t{reinterpret_cast<void*>(from.alternate_stack[0]), static_cast<int>(from.alternate_stack[1]) & ~SS_ONSTACK,
                            from.alternate_stack[2]};
  c->call_to_restart = from.call_to_restart;
  c->interrupted = from.interrupted;
  c->parent_slot = ~0u;
  CHECK(read_vector_image(c, from.vectors));
}

bool adopt_other_threads() {
  for (uint32_t k = 1; k < g_process.header->attached_threads; ++k) {
    ThreadContext* c = take_slot();
    ThreadIdentity* identity = c == nullptr ? nullptr : take_identity();
    if (identity == nullptr) return false;
    c->identity = identity;
    c->engine_fs_base = identity->fs_base;
    c->engine_sp = identity->stack_top;
    load_attached_state(c, k);
    table()[k].context = word(c);
  }
  return true;
}

}  // namespace simrun::engine
