#include "instr/engine/dispatch/flush.h"

#include "instr/engine/context/process.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/dispatch/descriptor_tables.h"
#include "instr/engine/dispatch/forget_paths.h"
#include "instr/engine/dispatch/fpu_pointers.h"
#include "instr/engine/dispatch/safe_points.h"

namespace simrun::engine {

bool flush_translations(ThreadContext* self, uint64_t generation, bool waits_for_ever) {
  if (!try_stop_world(self, waits_for_ever ? ~uint64_t{0} : 100)) return false;
  bool renews = false;
  {
    const std::lock_guard lock(g_translation_lock);
    if (code_generation() == generation) {
      settle_fpu_pointers();
      drop_translations();
      renews = descriptor_tables_want_renewal();
    }
  }
  if (renews) {   // the lock is free: who takes a fault's cut to his stream may want it
    if (g_process.has_reader()) have_paths_forgotten(self);
    const std::lock_guard lock(g_translation_lock);
    renew_descriptor_tables();
  }
  resume_world();
  return true;
}

void flush_range(ThreadContext* self, AppAddress from, AppAddress to) {
  stop_world(self);
  {
    const std::lock_guard lock(g_translation_lock);
    settle_fpu_pointers();
    invalidate_translations(from, to);
  }
  resume_world();
}

void flush_if_translated(ThreadContext* self, AppAddress from, AppAddress to) {
  bool translated;
  {
    const std::lock_guard lock(g_translation_lock);
    translated = has_translations(from, to);
  }
  if (translated) flush_range(self, from, to);
}

}  // namespace simrun::engine
