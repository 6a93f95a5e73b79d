// The application's signal actions, and what the kernel has in their place. Shared by all threads of the process.
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
// SA_RESETHAND: takes the action and leaves the default.
KernelAction take_action(int number);

}  // namespace simrun::engine
