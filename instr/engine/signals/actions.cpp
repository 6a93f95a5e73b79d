#include "instr/engine/signals/actions.h"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>

#include "instr/engine/context/app_memory.h"
#include "instr/engine/context/fixed_routines.h"
#include "instr/engine/context/fork_locks.h"
#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/context/signal_mask.h"

namespace simrun::engine {

// As the kernel's sighand_struct.
struct SignalActions {
  KernelAction of[65];
  uint32_t users;
};

namespace {

constexpr uint64_t kRestorerFlag = 0x04000000;
constexpr uint64_t kExposeTagBits = 0x800;   // SA_EXPOSE_TAGBITS
constexpr uint64_t kKnownFlags = SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | static_cast<uint32_t>(SA_RESETHAND) |
                                 kExposeTagBits | kRestorerFlag;   // UAPI_SA_FLAGS
constexpr uint64_t kPassedFlags = SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT;

EngineLock g_lock{LockRank::kActions};  // guards all tables of actions; held with all signals blocked
const ForkLock g_fork_lock{g_lock};
SignalActions g_first;        // of the thread with which the engine started; never released

KernelAction* mine() { return current_context()->actions->of; }

// Faults' signals too: one that was sent would come before the handler's first instruction, and find our mask for the program's.
constexpr uint64_t kAllInHandler = ~uint64_t{0};

KernelAction engine_action(uint64_t flags) {
  return {g_routines.signal_entry, SA_SIGINFO | SA_ONSTACK | kRestorerFlag | (flags & kPassedFlags), g_routines.signal_restorer, kAllInHandler};
}

// A fault's signal that somebody sends and the program ignores interrupts no call (nor one whose default action is nothing: there is none).
KernelAction action_for_fault(const KernelAction& wanted) { return engine_action(wanted.handler <= kSigIgnore ? SA_RESTART : wanted.flags); }

int64_t set_kernel_action(int number, const KernelAction& action) {
  return raw_syscall(SYS_rt_sigaction, static_cast<uint64_t>(number), word(&action), 0, 8);
}

class Locked {
 public:
  Locked() : mask_(block_signals()) { g_lock.lock(); }
  ~Locked() {
    g_lock.unlock();
    set_signal_mask(mask_);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  uint64_t mask_;
};

int64_t install(KernelAction* actions, int number, const KernelAction& action) {
  KernelAction kernel = action;
  if (is_fault_signal(number))
    kernel = action_for_fault(action);
  else if (action.handler > kSigIgnore)
    kernel = engine_action(action.flags);
  const int64_t result = set_kernel_action(number, kernel);
  if (result == 0) {
    actions[number] = action;
    // What the kernel itself drops (kernel/signal.c, do_sigaction).
    actions[number].flags &= kKnownFlags;
    actions[number].mask &= ~(1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1));
  }
  return result;
}

// As the kernel does for CLONE_CLEAR_SIGHAND (kernel/signal.c, flush_signal_handlers).
void forget_handlers(KernelAction* actions) {
  for (int s = 1; s <= 64; ++s)
    if (actions[s].handler > kSigIgnore) actions[s] = KernelAction{};
}

}  // namespace

void start_signals() {
  for (int s = 1; s <= 64; ++s) {
    raw_syscall(SYS_rt_sigaction, static_cast<uint64_t>(s), 0, word(&g_first.of[s]), 8);
    if (is_fault_signal(s)) set_kernel_action(s, action_for_fault(g_first.of[s]));
  }
}

void restore_unowned_actions() {
  for (int s = 1; s <= 64; ++s)
    if (s != SIGKILL && s != SIGSTOP && !is_fault_signal(s)) install(g_first.of, s, g_first.of[s]);
}

void ignore_faults_for_exec() {
  const KernelAction* const actions = mine();
  for (int s = 1; s <= 64; ++s)
    if (is_fault_signal(s) && actions[s].handler == kSigIgnore) set_kernel_action(s, actions[s]);
}

void own_faults_again() {
  const KernelAction* const actions = mine();
  for (int s = 1; s <= 64; ++s)
    if (is_fault_signal(s)) set_kernel_action(s, action_for_fault(actions[s]));
}

void restore_native_actions(bool cleared) {
  const KernelAction* const actions = mine();
  for (int s = 1; s <= 64; ++s)
    if (s != SIGKILL && s != SIGSTOP && !(cleared && actions[s].handler > kSigIgnore)) set_kernel_action(s, actions[s]);
}

SignalActions* first_actions() { return &g_first; }

SignalActions* share_actions(SignalActions* actions) {
  const Locked locked;
  ++actions->users;
  return actions;
}

SignalActions* copy_actions(const SignalActions& actions, bool clear) {
  const Locked locked;
  auto* const copy = new (std::nothrow) SignalActions{};
  if (copy == nullptr) return nullptr;
  std::copy(std::begin(actions.of), std::end(actions.of), std::begin(copy->of));
  copy->users = 1;
  if (clear) forget_handlers(copy->of);
  return copy;
}

void release_actions(SignalActions* actions) {
  const Locked locked;
  if (actions != &g_first && --actions->users == 0) delete actions;
}

void note_cleared_handlers() {
  forget_handlers(mine());
  own_faults_again();
}

KernelAction application_action(int number) {
  const Locked locked;
  return mine()[number];
}

int64_t install_action(int number, const KernelAction& action) {
  const Locked locked;
  return install(mine(), number, action);
}

KernelAction take_action(int number) {
  const Locked locked;
  const KernelAction action = mine()[number];
  if (action.handler > kSigIgnore && (action.flags & SA_RESETHAND)) {
    KernelAction reset = action;
    reset.handler = kSigDefault;
    install(mine(), number, reset);
  }
  return action;
}

// rt_sigaction(signum, act, oldact, sigsetsize)
int64_t do_sigaction(ThreadContext* c) {
  const auto number = static_cast<int32_t>(c->app.gpr[kRdi]);
  const uint64_t act = c->app.gpr[kRsi], old = c->app.gpr[kRdx];
  if (c->app.gpr[kR10] != 8) return -EINVAL;
  KernelAction action{};
  if (act != 0 && !read_app(&action, act, sizeof action)) return -EFAULT;
  if (number < 1 || number > 64 || (act != 0 && (number == SIGKILL || number == SIGSTOP))) return -EINVAL;
  KernelAction previous;
  {
    const Locked locked;
    previous = mine()[number];
    if (act != 0) {
      const int64_t result = install(mine(), number, action);
      if (result != 0) return result;
    }
  }
  if (old != 0 && !write_app(old, &previous, sizeof previous)) return -EFAULT;
  return 0;
}

}  // namespace simrun::engine
