// The application's signal actions, and what the kernel has in their place. A table is shared by the threads of a process, and by
// processes that were made with CLONE_SIGHAND.
#pragma once

#include "instr/engine/signals/signals.h"

namespace simrun::engine {

inline constexpr uint64_t kSigDefault = 0, kSigIgnore = 1;

// Signals whose handler is the engine's whatever the application wants: faults in the code cache must come to it.
constexpr bool is_fault_signal(int number) {
  return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE || number == SIGTRAP;
}

KernelAction application_action(int number);
// What the kernel is to have for an application's action; installs it. Returns the kernel's result.
int64_t install_action(int number, const KernelAction& action);
// Tables of actions, of threads to come. The first is that of the thread with which the engine started.
SignalActions* first_actions();
SignalActions* share_actions(SignalActions* actions);
SignalActions* copy_actions(const SignalActions& actions, bool clear);   // null: no memory
void release_actions(SignalActions* actions);
// The kernel has cleared this process's handlers (CLONE_CLEAR_SIGHAND).
void note_cleared_handlers();

// SA_RESETHAND: takes the action and leaves the default.
KernelAction take_action(int number);

}  // namespace simrun::engine
