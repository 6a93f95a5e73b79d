#include "instr/engine/dispatch/fpu_pointers.h"

#include <cstring>
#include <mutex>

#include "instr/engine/context/process.h"
#include "instr/engine/dispatch/code_table.h"

namespace simrun::engine {
namespace {

// Of the image that xsavec64 writes (Intel SDM vol. 1, 10.5.1, 13.4.1 and 13.4.2). Without component 0 x87 is as at the start.
constexpr uint32_t kInstructionPointer = 8, kComponents = 512;

bool points_into_code_cache(const ThreadContext* c, uint64_t& pointer) {
  std::memcpy(&pointer, c->vector_state + kInstructionPointer, sizeof pointer);
  return (c->vector_state[kComponents] & 1) != 0 && g_code_cache.contains(pointer);
}

}  // namespace

void settle_fpu_pointer(ThreadContext* c) {
  uint64_t pointer;
  if (!points_into_code_cache(c, pointer)) return;
  const Recovery recovery = recover(pointer);
  // Not found: the instruction is no longer there, and what it was with it.
  pointer = recovery.found ? raw(recovery.pc) : 0;
  std::memcpy(c->vector_state + kInstructionPointer, &pointer, sizeof pointer);
}

void settle_fpu_pointers() {
  const uint32_t slots = g_process.header->slots_used.load();
  for (uint32_t k = 0; k < slots; ++k) settle_fpu_pointer(g_process.slot(k));
}

void settle_own_fpu_pointer(ThreadContext* c) {
  uint64_t pointer;
  if (!points_into_code_cache(c, pointer)) return;
  const std::lock_guard lock(g_translation_lock);
  settle_fpu_pointer(c);
}

}  // namespace simrun::engine
