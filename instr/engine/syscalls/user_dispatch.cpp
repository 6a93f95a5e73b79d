#include "instr/engine/syscalls/user_dispatch.h"

#include <linux/audit.h>
#include <linux/prctl.h>

#include <cerrno>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/signals/signals.h"

namespace simrun::engine {
namespace {

constexpr int kUserDispatchCode = 2;  // SYS_USER_DISPATCH

constexpr uint64_t kInclusive = 2;   // PR_SYS_DISPATCH_INCLUSIVE_ON, Linux 6.17

// The engine makes no calls from there.
bool kernel_knows_inclusive() {
  const auto set = [](uint64_t mode, uint64_t offset, uint64_t bytes) {
    return raw_syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, mode, offset, bytes, 0);
  };
  return set(kInclusive, 1, 1) == 0 && set(PR_SYS_DISPATCH_OFF, 0, 0) == 0;
}

siginfo_t signal_info(const ThreadContext* c, uint64_t number, uint32_t architecture) {
  siginfo_t info{};
  info.si_signo = SIGSYS;
  info.si_code = kUserDispatchCode;
  info.si_call_addr = reinterpret_cast<void*>(c->app.pc);
  info.si_syscall = static_cast<int>(number);
  info.si_arch = architecture;
  return info;
}

}  // namespace

// kernel/entry/syscall_user_dispatch.c, set_syscall_user_dispatch
int64_t set_user_dispatch(ThreadContext* c) {
  const uint64_t* g = c->app.gpr;
  const uint64_t mode = g[kRsi], offset = g[kRdx], bytes = g[kR10], selector = g[kR8];
  if (mode == PR_SYS_DISPATCH_OFF) {
    if (offset != 0 || bytes != 0 || selector != 0) return -EINVAL;
    c->user_dispatch = {};
    return 0;
  }
  const bool inclusive = mode == kInclusive && kernel_knows_inclusive();
  if (mode != PR_SYS_DISPATCH_ON && !inclusive) return -EINVAL;
  if (offset + bytes <= offset && (inclusive || offset != 0)) return -EINVAL;
  if (selector >= 1ull << 47) return -EFAULT;
  // Inside the range calls are dispatched: outside of the rest of all addresses.
  c->user_dispatch = inclusive ? UserDispatch{1, offset + bytes, 0 - bytes, selector} : UserDispatch{1, offset, bytes, selector};
  return 0;
}

// kernel/entry/syscall_user_dispatch.c, syscall_user_dispatch
bool dispatch_to_user(ThreadContext* c, uint64_t number, uint32_t architecture) {
  const UserDispatch& d = c->user_dispatch;
  if (c->app.pc - d.offset < d.bytes) return false;
  if (d.selector != 0) {
    uint8_t state = 0;
    const bool read = read_app(&state, d.selector, 1);
    if (read && state == SYSCALL_DISPATCH_FILTER_ALLOW) return false;
    if (!read || state != SYSCALL_DISPATCH_FILTER_BLOCK) end_by_signal(c, read ? SIGSYS : SIGSEGV);
  }
  if (!raise_signal(c, signal_info(c, number, architecture), kNoTrap)) {
    c->app.pc -= 2;  // the instruction
  } else if (architecture == AUDIT_ARCH_X86_64) {
    c->app.gpr[kRcx] = c->app.pc;
    c->app.gpr[kR11] = c->app.flags;
  }
  return true;
}

}  // namespace simrun::engine
