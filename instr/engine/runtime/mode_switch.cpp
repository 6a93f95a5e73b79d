#include "instr/engine/runtime/mode_switch.h"

#include <mutex>

#include "instr/engine/context/process.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/dispatch/fpu_pointers.h"
#include "instr/engine/dispatch/safe_points.h"
#include "instr/engine/instrument/budget.h"

namespace simrun::engine {

void switch_mode(border::Mode mode, ThreadContext* self) {
  stop_world(self);
  if (g_process.mode != mode) {
    const std::lock_guard lock(g_translation_lock);
    settle_fpu_pointers();
    set_mode(mode);
    drop_translations();
    g_process.mode = mode;
  }
  resume_world();
  follow_mode(self);
}

void follow_mode(ThreadContext* c) {
  if (c->mode != g_process.mode) begin_mode(c, g_process.mode);
}

}  // namespace simrun::engine
