#include "instr/engine/signals/go_native.h"

#include <asm/prctl.h>

#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/dispatch/fpu_pointers.h"
#include "instr/engine/signals/vector_frame.h"

namespace simrun::engine {

void fill_native_state(ThreadContext* c, NativeState& state) {
  state.fs_base = c->app_fs_base;
  state.gs_base = c->app_gs_base;
  settle_own_fpu_pointer(c);
  write_vector_frame(c, frame_layout(c), state.vectors);
  fill_frame(c, state.frame.context, word(state.vectors));
}

void give_process_back(bool handlers_cleared) {
  restore_native_actions(handlers_cleared);
  g_process.going_native();
}

void go_native(const NativeState& state) {
  // The flags of none, as after exec, are refused where another stack, ours, is to go.
  stack_t s = state.frame.context.stack;
  if (s.ss_size == 0) s.ss_flags |= SS_DISABLE;
  raw_syscall(SYS_sigaltstack, word(&s), 0);
  if (g_process.header->base_instructions != 0)
    asm volatile(
        "wrgsbase %2\n"
        "mov %0, %%rsp\n"
        "wrfsbase %1\n"
        "mov $15, %%eax\n"   // rt_sigreturn
        "syscall\n"
        "ud2"
        :
        : "r"(word(&state.frame.context)), "r"(state.fs_base), "r"(state.gs_base)
        : "memory");
  raw_syscall(SYS_arch_prctl, ARCH_SET_GS, state.gs_base);
  asm volatile(
      "mov %0, %%rsp\n"
      "syscall\n"          // arch_prctl
      "mov $15, %%eax\n"
      "syscall\n"
      "ud2"
      :
      : "r"(word(&state.frame.context)), "a"(SYS_arch_prctl), "D"(ARCH_SET_FS), "S"(state.fs_base)
      : "rcx", "r11", "memory");
  __builtin_unreachable();
}

}  // namespace simrun::engine
