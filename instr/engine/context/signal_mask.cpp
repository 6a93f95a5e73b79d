#include "instr/engine/context/signal_mask.h"

#include <atomic>

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

struct HeldBack {
  std::atomic<bool> allowed = false;  // read by the handler, on the same thread
  bool has[2] = {};
  siginfo_t info[2];
};
thread_local HeldBack t_held;

constexpr int kHeld[2] = {SIGSEGV, SIGBUS};
constexpr uint64_t bit_of(int number) { return 1ull << (number - 1); }

uint64_t change(uint64_t how, uint64_t mask) {
  uint64_t old = 0;
  simrun_change_mask(how, &mask, &old);
  return old;
}

}  // namespace

uint64_t set_signal_mask(uint64_t mask) { return change(SIG_SETMASK, mask); }
uint64_t block_signals() { return change(SIG_BLOCK, kAllSignals); }

bool is_behind_mask_change(uint64_t pc) { return pc == reinterpret_cast<uint64_t>(simrun_mask_changed); }

FaultsAllowed::FaultsAllowed() {
  t_held.allowed.store(true, std::memory_order_seq_cst);
  mask_ = set_signal_mask(~(bit_of(SIGSEGV) | bit_of(SIGBUS)));
}

FaultsAllowed::~FaultsAllowed() {
  // Sent again while all is blocked: they come, or go on waiting, with the mask.
  set_signal_mask(~0ull);
  t_held.allowed.store(false, std::memory_order_seq_cst);
  for (int k = 0; k < 2; ++k) {
    if (!t_held.has[k]) continue;
    t_held.has[k] = false;
    raw_syscall(SYS_rt_tgsigqueueinfo, static_cast<uint64_t>(raw_syscall(SYS_getpid)),
                static_cast<uint64_t>(raw_syscall(SYS_gettid)), static_cast<uint64_t>(kHeld[k]), word(&t_held.info[k]));
  }
  set_signal_mask(mask_);
}

bool hold_back(int number, const siginfo_t& info) {
  if (!t_held.allowed.load(std::memory_order_seq_cst)) return false;
  const int k = number == SIGBUS ? 1 : 0;
  t_held.info[k] = info;
  t_held.has[k] = true;
  return true;
}

}  // namespace simrun::engine
