// A stopped thread, as a place to run system calls and to write memory. Works without breakpoints and without signals: a
// `syscall` instruction is written over the instruction that is next (or over another, if code does not run there) and
// run between the two system-call stops, so neither the signal mask nor a disposition of the program ever changes.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace simrun::host {

class RemoteProcess {
 public:
  // `pid`: in the PTRACE_EVENT_EXEC stop (exec_stop.h), traced by the calling thread. Throws UserError when the kernel refuses access.
  explicit RemoteProcess(pid_t pid);

  pid_t pid() const { return pid_; }
  // `tid`: a thread stopped with PTRACE_EVENT_STOP, seized with PTRACE_O_TRACESYSGOOD; `registers`: those with which it is to be left, in no
  // system call.
  RemoteProcess(pid_t tid, const user_regs_struct& registers);

  // The registers that the kernel gave to the program; or as given to the constructor.
  const user_regs_struct& initial_registers() const { return initial_; }

  // Runs one system call in the child; its raw result (negative errno on failure).
  int64_t call(long number, std::array<uint64_t, 6> arguments = {});
  // The same, for calls that must succeed: throws UserError "cannot <what>: <error>".
  uint64_t must_call(const std::string& what, long number, std::array<uint64_t, 6> arguments = {});

  // The mask with which it is left.
  uint64_t signal_mask() const { return signal_mask_; }

  // Copies into memory that is writable for the child.
  void write(uint64_t address, const void* bytes, size_t count);
  // The string at `address`; as much of it as can be read.
  std::string read_string(uint64_t address);

  // Puts everything back; the child stays stopped and traced, with the registers that the kernel gave it. A child that is gone is no error.
  void give_back() noexcept;
  // Puts everything back but the registers: it is to go on from `pc` on stack `sp` with all others zero. Its signal mask is its own, or all with
  // `block_signals`.
  void prepare_start(uint64_t pc, uint64_t sp, bool block_signals = false);
  // Lets it run to where its next system call begins or, from there, ends, stopping and taking signals as it would without us.
  void run_to_call_boundary();
  user_regs_struct registers();
  void set_registers(const user_regs_struct& registers);
  // It runs and is no longer traced.
  void detach();

 private:
  void block_signals();
  void put_instruction();
  void run_on(int request, int signal);
  [[noreturn]] void throw_killed() const;
  int wait_for_stop();
  void run_to_syscall_stop();

  pid_t pid_;
  user_regs_struct initial_{};
  uint64_t signal_mask_ = 0;
  uint64_t instruction_ = 0;   // where `syscall` stands
  long saved_text_ = 0;        // what stood there
  int held_signal_ = 0;   // SIGSTOP cannot be blocked: kept back until detach
};

// Of one that was left in a stop for the calling thread: only SIGKILL takes it from there, at most to where it is about to end
// (PTRACE_O_TRACEEXIT). There it is to be let go, not to be run on: its end would be its tracer's first.
bool has_been_killed(pid_t pid);

// Ended, whether or not it has been waited for; false when no descriptor is left to look with.
bool is_gone(pid_t pid);

// The auxiliary vector that the kernel gave to process `pid`, by type.
std::map<uint64_t, uint64_t> read_auxiliary_vector(pid_t pid);

}  // namespace simrun::host
