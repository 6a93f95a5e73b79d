#include "instr/engine/threads/follow.h"

#include <linux/futex.h>
#include <time.h>

#include "instr/engine/context/process.h"
#include "instr/engine/context/raw_syscall.h"
#include "instr/engine/instrument/ring_writer.h"

namespace simrun::engine {
namespace {

using border::FollowRequest;
using border::FollowState;

uint32_t number(FollowState state) { return static_cast<uint32_t>(state); }

FollowRequest* claim() {
  for (FollowRequest& r : g_process.header->requests) {
    uint32_t free = number(FollowState::kFree);
    if (r.state.compare_exchange_strong(free, number(FollowState::kClaimed))) return &r;
  }
  return nullptr;
}

// Nobody will answer: simrun has ended, or has done with the process whose header this is (of a child on its way: the parent's).
bool nobody_answers() { return g_process.header->engine_state.load(std::memory_order_acquire) >= 2 || simulator_is_gone(); }

// As many processes may start at once as there are entries; the others wait their turn.
FollowRequest* claim_or_wait() {
  constexpr int kAttempts = 5000;
  for (int k = 0; k < kAttempts; ++k) {
    if (FollowRequest* r = claim()) return r;
    if (nobody_answers()) return nullptr;
    const timespec millisecond{0, 1'000'000};
    raw_syscall(SYS_nanosleep, word(&millisecond));
  }
  return nullptr;
}

FollowState wait_for_answer(FollowRequest& r) {
  for (;;) {
    const uint32_t state = r.state.load(std::memory_order_acquire);
    if (state != number(FollowState::kPosted)) return static_cast<FollowState>(state);
    const timespec timeout{0, 100'000'000};
    raw_syscall(SYS_futex, word(&r.state), FUTEX_WAIT, state, word(&timeout));
    if (!nobody_answers()) continue;
    // It may have been answered just now.
    uint32_t posted = number(FollowState::kPosted);
    if (r.state.compare_exchange_strong(posted, number(FollowState::kRefused))) return FollowState::kRefused;
  }
}

}  // namespace

bool ask_simulator(border::FollowKind kind, uint64_t token, uint32_t descriptor) {
  FollowRequest* r = claim_or_wait();
  if (r == nullptr) return false;
  r->kind = kind;
  r->pid = static_cast<uint32_t>(raw_syscall(SYS_getpid));
  r->tid = static_cast<uint32_t>(raw_syscall(SYS_gettid));
  r->descriptor = descriptor;
  r->token = token;
  r->state.store(number(FollowState::kPosted), std::memory_order_seq_cst);
  g_process.header->requests_posted.fetch_add(1, std::memory_order_seq_cst);
  call_consumer();
  const FollowState answer = wait_for_answer(*r);
  r->state.store(number(FollowState::kFree), std::memory_order_release);
  return answer == FollowState::kGranted;
}

namespace {

constexpr uint32_t kRemembered = 64;
std::atomic<uint64_t> g_children[kRemembered];   // number and token, each 32 bits; by number

}  // namespace

void note_child(uint64_t pid, uint64_t token) { g_children[pid % kRemembered] = pid << 32 | static_cast<uint32_t>(token); }

uint32_t token_of_child(uint64_t pid) {
  const uint64_t child = g_children[pid % kRemembered];
  return child >> 32 == pid ? static_cast<uint32_t>(child) : 0;
}

void forget_children() {
  for (auto& child : g_children) child = 0;
}

}  // namespace simrun::engine
