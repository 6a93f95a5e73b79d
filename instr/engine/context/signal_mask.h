// The signal mask of the kernel thread, which is the program's own mask whenever the program runs (docs/signals.md).
// Any time.
#pragma once

#include <signal.h>

#include <cstdint>

namespace simrun::engine {

// All that the engine keeps from coming while it must not be disturbed: not the faults, which the kernel would turn
// into death. They come from careful copies (app_memory.h), and from the application while a signal waits for its safe
// point.
inline constexpr uint64_t kAllSignals = ~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) |
                                          1ull << (SIGFPE - 1) | 1ull << (SIGTRAP - 1));

// Both return the old mask.
uint64_t set_signal_mask(uint64_t mask);
// Adds kAllSignals, until the next set_signal_mask: what the program blocks itself, a SIGSEGV that was sent too, goes on waiting.
uint64_t block_signals(uint64_t which = kAllSignals);
inline constexpr uint64_t kFaultsToo = ~0ull;  // where a fault's signal that is sent would find no context
// All is blocked already, by the handler.
void note_blocked();
// For the handler: true when all is blocked by the engine, so that this signal, which was sent, must come later. `pc`, `mask`: of the frame.
bool defer(int number, uint64_t pc, uint64_t& mask);
// For the handler: of the frame's mask, without what defer() has put there since the mask was changed last.
uint64_t own_mask(uint64_t mask);

// Does the instruction at `pc` follow a change of the mask? There nothing faults: a signal was sent, and waited.
bool is_behind_mask_change(uint64_t pc);

// The kernel is to give a signal again that this thread took.
void send_again(int number, const siginfo_t& info);
// Of the code of a signal that has come or that a call has taken: true if it came again with another code than it had been sent with, which it has
// now.
bool restore_code(int& code);

// While it lives only faults come: a SIGSEGV or SIGBUS that was sent waits until its end.
class FaultsAllowed {
 public:
  FaultsAllowed();
  ~FaultsAllowed();
  FaultsAllowed(const FaultsAllowed&) = delete;
  FaultsAllowed& operator=(const FaultsAllowed&) = delete;

 private:
  uint64_t mask_;
};

// For the handler: keeps a fault's signal, which was sent, until send_held(). It is not blocked meanwhile: the program goes on to its safe
// point, and may have the fault itself.
void hold(int number, const siginfo_t& info);
// Sends again what is kept; before the mask is set.
void send_held();
// The mask with and without one fault's signal, for a thread that is about to enter the code cache, or has left it: then what was held meanwhile is
// sent again, and blocked.
bool is_blocked(int number);
void unblock(int number);
void block_again(int number);

// For the handler: is this signal, which was sent, one to wait?
bool hold_back(int number, const siginfo_t& info);

}  // namespace simrun::engine
