// The vsyscall page: three functions at fixed addresses that programs of old call. Nothing there can be read or copied;
// the kernel emulates the call when it is made (arch/x86/entry/vsyscall/vsyscall_64.c, emulate_vsyscall), and so does
// the engine.
#include <cerrno>
#include <mutex>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/dispatch/code_table.h"
#include "instr/engine/dispatch/stable_code.h"
#include "instr/engine/instrument/ring_writer.h"
#include "instr/engine/signals/signals.h"
#include "instr/engine/syscalls/seccomp.h"
#include "instr/engine/syscalls/syscalls.h"
#include "instr/engine/threads/threads.h"
#include "instr/engine/translate/address_space.h"

namespace simrun::engine {
namespace {

constexpr uint64_t kPage = 0xffffffffff600000, kPageBytes = 4096;

bool page_exists() {
  const std::lock_guard lock(g_translation_lock);
  return mapped_bytes_in(AppAddress{kPage}, AppAddress{kPage + kPageBytes}).all != 0;
}

// The system call that a function of the page is; false: no function there.
bool call_at(uint64_t pc, uint64_t& number) {
  switch (pc) {
    case kPage:
      number = SYS_gettimeofday;
      return true;
    case kPage + 0x400:
      number = SYS_time;
      return true;
    case kPage + 0x800:
      number = SYS_getcpu;
      return true;
    default:
      return false;
  }
}

// A pointer that is not good, or no function there: the kernel forces a signal that says nothing of the address.
void raise_bad_call(ThreadContext* c) {
  siginfo_t info{};
  info.si_signo = SIGSEGV;
  info.si_code = SI_KERNEL;
  const Trap last = c->last_trap;
  raise_signal(c, info, {14 /* X86_TRAP_PF */, 0x15, c->app.pc});
  c->last_trap = last;
}

}  // namespace

bool do_vsyscall(ThreadContext* c) {
  uint64_t number, back;
  if (c->app.pc - kPage >= kPageBytes || !page_exists()) return false;
  if (!call_at(c->app.pc, number)) {
    raise_bad_call(c);
    return true;
  }
  const Registers before = c->app;
  if (!read_app(&back, c->app.gpr[kRsp], sizeof back)) {
    raise_bad_call(c);
    return true;
  }
  if (c->strict != 0 && judge_call(c, number) == Verdict::kKilled) kill_thread(c);   // filters meet the gate's call
  const CallInProgress in_progress(c, number);
  append_event(c, border::Event::kSyscallEnter, {number, 0});
  c->app.gpr[kRax] = number;
  if (number == SYS_getcpu) c->app.gpr[kRdx] = 0;
  const bool done = pass_through(c);
  const uint64_t result = c->app.gpr[kRax];
  append_event(c, border::Event::kSyscallExit, {number, result});
  c->app = before;
  if (!done) return true;  // a signal comes first
  if (result == static_cast<uint64_t>(-EFAULT)) {
    raise_bad_call(c);
    return true;
  }
  c->app.gpr[kRax] = result;
  c->app.gpr[kRsp] += 8;
  c->app.pc = back;
  return true;
}

}  // namespace simrun::engine
