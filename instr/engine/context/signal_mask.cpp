#include "instr/engine/context/signal_mask.h"

#include <atomic>
#include <cerrno>

#include "base/check.h"
#include "instr/engine/context/raw_syscall.h"

// rt_sigprocmask(how, set, old_set, 8), in one place with a name for its end.
asm(R"(
.text
.type simrun_change_mask, @function
simrun_change_mask:
  mov $14, %eax
  mov $8, %r10d
  syscall
simrun_mask_changed:
  ret
.size simrun_change_mask, . - simrun_change_mask
)");
extern "C" {
[[gnu::visibility("hidden")]] int64_t simrun_change_mask(uint64_t how, const uint64_t* set, uint64_t* old);
[[gnu::visibility("hidden")]] extern const char simrun_mask_changed[];
}
static_assert(SYS_rt_sigprocmask == 14);

namespace simrun::engine {
namespace {

constexpr int kFaultSignals = 5;
constexpr int kHeld[kFaultSignals] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};

// Of each number one that was sent to the thread, and one that was sent to the process: a second one there is the first one, as for the kernel.
struct Held {
  bool has = false;
  siginfo_t info{};
};
struct HeldBack {
  std::atomic<bool> allowed = false;  // read by the handler, on the same thread
  Held to_thread[kFaultSignals], to_process[kFaultSignals];
};
constinit thread_local HeldBack t_held;   // no first use that a signal could interrupt

// Whether the kernel's mask is the engine's and not the program's; read and changed by the handler too, on the same thread.
struct Blocked {
  std::atomic<uint32_t> depth = 0;
  std::atomic<bool> ends = false;      // by the change under way: behind it the mask is the program's again
  std::atomic<uint64_t> deferred = 0;  // signals for which the handler has changed the mask since the last change here began
};
constinit thread_local Blocked t_blocked;

constexpr uint64_t bit_of(int number) { return 1ull << (number - 1); }

uint64_t change(uint64_t how, uint64_t mask) {
  uint64_t old = 0;
  simrun_change_mask(how, &mask, &old);
  return old;
}

}  // namespace

uint64_t set_signal_mask(uint64_t mask) {
  t_blocked.deferred.store(0, std::memory_order_seq_cst);
  const uint32_t depth = t_blocked.depth.load(std::memory_order_seq_cst);
  t_blocked.ends.store(depth == 1, std::memory_order_seq_cst);
  const uint64_t old = change(SIG_SETMASK, mask);
  t_blocked.ends.store(false, std::memory_order_seq_cst);
  if (depth == 0) return old;
  t_blocked.depth.store(depth - 1, std::memory_order_seq_cst);
  if (const uint64_t late = t_blocked.deferred.load(std::memory_order_seq_cst) & ~mask) {
    change(SIG_UNBLOCK, late);  // one came between the last two
    t_blocked.deferred.store(0, std::memory_order_seq_cst);
  }
  return old;
}

uint64_t block_signals(uint64_t which) {
  t_blocked.deferred.store(0, std::memory_order_seq_cst);
  t_blocked.depth.fetch_add(1, std::memory_order_seq_cst);
  const uint64_t old = change(SIG_BLOCK, which);
  return own_mask(old);  // one may have come between the last two
}

uint64_t own_mask(uint64_t mask) { return mask & ~t_blocked.deferred.load(std::memory_order_seq_cst); }

void note_blocked() { t_blocked.depth.store(1, std::memory_order_seq_cst); }

bool defer(int number, uint64_t pc, uint64_t& mask) {
  if (t_blocked.depth.load(std::memory_order_seq_cst) == 0) return false;
  if (t_blocked.ends.load(std::memory_order_seq_cst) && is_behind_mask_change(pc)) return false;
  t_blocked.deferred.fetch_or(bit_of(number), std::memory_order_seq_cst);
  mask |= bit_of(number);
  return true;
}

bool is_behind_mask_change(uint64_t pc) { return pc == reinterpret_cast<uint64_t>(simrun_mask_changed); }

namespace {

// Which one with a value, or of a timer, is taken for, too: among a thread's own the kernel takes one with a fault's code first, though it be
// blocked (kernel/signal.c, dequeue_synchronous_signal).
bool is_to_process(const siginfo_t& info) { return info.si_code == SI_USER || info.si_code == SI_QUEUE || info.si_code == SI_TIMER; }

void send_if_held(int number, Held& held) {
  if (!held.has) return;
  change(SIG_SETMASK, ~0ull);
  held.has = false;
  send_again(number, held.info);
}

}  // namespace

constexpr int kKilledAgain = -0x5353;   // nobody's code; -0x5352 wakes threads up (dispatch/safe_points.cpp)

void send_again(int number, const siginfo_t& info) {
  const auto pid = static_cast<uint64_t>(raw_syscall(SYS_getpid)), tid = static_cast<uint64_t>(raw_syscall(SYS_gettid));
  const auto signal = static_cast<uint64_t>(number);
  const auto done = [](int64_t result) { CHECK(result == 0 || result == -EAGAIN); };   // a real-time one where RLIMIT_SIGPENDING is used up
  if (!is_to_process(info)) return done(raw_syscall(SYS_rt_tgsigqueueinfo, pid, tid, signal, word(&info)));
  // Only a process's first thread may send it what kill sends (kernel/signal.c, do_rt_sigqueueinfo).
  siginfo_t sent = info;
  if (sent.si_code == SI_USER && tid != pid) sent.si_code = kKilledAgain;
  done(raw_syscall(SYS_rt_sigqueueinfo, pid, signal, word(&sent)));
}

bool restore_code(int& code) {
  if (code != kKilledAgain) return false;
  code = SI_USER;
  return true;
}

FaultsAllowed::FaultsAllowed() {
  t_held.allowed.store(true, std::memory_order_seq_cst);
  mask_ = change(SIG_SETMASK, ~(bit_of(SIGSEGV) | bit_of(SIGBUS)));
}

FaultsAllowed::~FaultsAllowed() {
  // Sent again while all is blocked: they come, or go on waiting, with the mask.
  change(SIG_SETMASK, ~0ull);
  t_held.allowed.store(false, std::memory_order_seq_cst);
  send_held();
  change(SIG_SETMASK, mask_);
}

void send_held() {
  for (int k = 0; k < kFaultSignals; ++k) {
    send_if_held(kHeld[k], t_held.to_thread[k]);
    send_if_held(kHeld[k], t_held.to_process[k]);
  }
}

bool is_blocked(int number) { return (change(SIG_BLOCK, 0) & bit_of(number)) != 0; }

void unblock(int number) { change(SIG_UNBLOCK, bit_of(number)); }

void block_again(int number) {
  const uint64_t mask = change(SIG_SETMASK, ~0ull);
  send_held();
  change(SIG_SETMASK, mask | bit_of(number));
}

void hold(int number, const siginfo_t& info) {
  for (int k = 0; k < kFaultSignals; ++k) {
    if (kHeld[k] != number) continue;
    Held& held = (is_to_process(info) ? t_held.to_process : t_held.to_thread)[k];
    if (!held.has) held.info = info;
    held.has = true;
    return;
  }
  CHECK(false);  // all others are blocked
}

bool hold_back(int number, const siginfo_t& info) {
  if (!t_held.allowed.load(std::memory_order_seq_cst)) return false;
  hold(number, info);
  return true;
}

}  // namespace simrun::engine
