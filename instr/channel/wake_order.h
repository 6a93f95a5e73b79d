// Who was woken goes on behind what woke it. Host threads run ahead of the reader by up to a ring, so when the words of a thread that waited for
// another (futex) come, what the other did before it woke it may be unread; as soon as they came the thread would run beside that. The kernel's
// wakes are in the streams: a call that woke n threads allows n waiters of its address to go on when it has been read, each once (who waits
// again waits for another call, though others that this one woke have not been read as far as their wait). When all that wait there have been woken
// they are runnable at once, and the reader waits for their words: the host may let them run later. Where no such call comes
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

// The call that a thread is in; `kind`, `address` and `value` of `futex`.
struct FutexCall {
  enum class Kind : uint8_t { kNone, kWait, kWake } kind = Kind::kNone;
  // Why a thread that is back from it does not go on: one that it goes on behind is running, or all such are themselves held.
  enum class Hold : uint8_t { kNone, kByRunning, kByHeld } hold = Hold::kNone;
  bool is_noted = false;    // `behind` is filled
  bool is_woken = false;    // kWait: by a call that has been read, as it seems: runnable without words
  bool is_shared = false;   // between processes (no FUTEX_PRIVATE_FLAG)
  uint64_t place = 0;       // of the stream, behind its kSyscallEnter
  uint64_t address = 0;
  uint64_t value = 0;       // kWait: that the word must have; kWake: the most threads to be woken
  std::vector<std::pair<MergeThread*, uint64_t>> behind;  // threads, and places (progress_sampler.h) up to which they are to be read first
};

// Of one process, or of all: of futexes that processes share, whose `address` is the same in all of them (SharedMemory).
class WakeOrder {
 public:
  // By system call: payloads of kSyscallEnter (which fills `futex`) and kSyscallExit.
  static void enter(MergeThread& thread, std::span<const uint64_t> payload);
  // Those that are runnable from now on. `all`: the threads of all processes.
  std::vector<MergeThread*> exit(MergeThread& thread, std::span<const uint64_t> payload, const std::vector<MergeThread*>& all);
  // Of a thread that has just begun to wait: whether it is being woken already, by a call that has been read.
  bool is_woken(const MergeThread& thread) const;
  void end(uint32_t tid) { ended_[next_ended_++ % ended_.size()] = tid; }

  // Of a blocked thread with words in hand: whether it may run; else FutexCall::hold says why not.
  bool may_go_on(MergeThread& thread, const std::vector<MergeThread*>& all);
  // It goes on all the same.
  void let_go(MergeThread& thread);
  // `thread`, of this process, will be no more. `all`: as above.
  void forget(const MergeThread& thread, const std::vector<MergeThread*>& all);

 private:
  using Threads = std::vector<const MergeThread*>;
  // A call that woke threads, and who of them went on; with who made it.
  struct Wake {
    uint64_t threads;
    Threads gone_on;
  };
  struct Address {
    std::vector<Wake> wakes;   // oldest first, none of which all have gone on
    Threads early;             // went on before the call that woke them was read
  };

  bool was_woken(const MergeThread& thread);
  std::vector<MergeThread*> add_wake(const MergeThread& by, uint64_t threads, const std::vector<MergeThread*>& all);

  std::unordered_map<uint64_t, Address> addresses_;
  std::array<uint32_t, 64> ended_{};              // kernel ids of the last threads that did, which those who join them wait for
  uint32_t next_ended_ = 0;
};

// Of a thread that has noted what it goes on behind: whether all of that has been read; else FutexCall::hold says what it waits for.
bool is_behind_all(MergeThread& thread, const std::vector<MergeThread*>& all);

// Of threads that are held by each other, and by none that runs, the first to go on; null: there is none.
MergeThread* first_held(const std::vector<MergeThread*>& all);

}  // namespace simrun::channel
