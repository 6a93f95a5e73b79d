// Who was woken goes on behind what woke it. Host threads run ahead of the reader by up to a ring, so when the words of a thread that waited for
// another (futex) come, what the other did before it woke it may be unread; as soon as they came the thread would run beside that. The kernel's
// wakes are in the streams: a call that woke n threads allows n waiters of its address to go on when it has been read. Where that does not come
// (woken at another address, through another process's mapping), a waiter goes on when all others have been read up to where they were when its
// words came, which is behind the wake.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace simrun::channel {

struct MergeThread;

// The call of `futex` that a thread is in.
struct FutexCall {
  enum class Kind : uint8_t { kNone, kWait, kWake } kind = Kind::kNone;
  // Why a thread that is back from it does not go on: one that it goes on behind is running, or all such are themselves held.
  enum class Hold : uint8_t { kNone, kByRunning, kByHeld } hold = Hold::kNone;
  bool is_noted = false;    // `behind` is filled
  uint64_t address = 0;
  uint64_t value = 0;       // kWait: that the word must have; kWake: the most threads to be woken
  std::vector<std::pair<MergeThread*, uint64_t>> behind;  // threads, and places (progress_sampler.h) up to which they are to be read first
};

class WakeOrder {
 public:
  // Of one process's threads, by system call: payloads of kSyscallEnter and kSyscallExit.
  void enter(MergeThread& thread, std::span<const uint64_t> payload);
  void exit(MergeThread& thread, std::span<const uint64_t> payload);
  void end(uint32_t tid) { ended_[next_ended_++ % ended_.size()] = tid; }

  // Of a blocked thread with words in hand: whether it may run; else FutexCall::hold says why not. `all`: the threads of all processes.
  bool may_go_on(MergeThread& thread, const std::vector<MergeThread*>& all);
  // It goes on all the same.
  void let_go(MergeThread& thread);

 private:
  bool was_woken(const FutexCall& call);
  void add(uint64_t address, int64_t threads);

  std::unordered_map<uint64_t, int64_t> woken_;   // by address: threads woken less waiters that went on
  std::array<uint32_t, 64> ended_{};              // kernel ids of the last threads that did, which those who join them wait for
  uint32_t next_ended_ = 0;
};

// Of threads that are held by each other, and by none that runs, the first to go on; null: there is none.
MergeThread* first_held(const std::vector<MergeThread*>& all);
// `thread` will be no more.
void forget_in_wake_order(const MergeThread& thread, const std::vector<MergeThread*>& all);

}  // namespace simrun::channel
