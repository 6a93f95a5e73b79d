// Which thread runs on which simulated core: round robin with a time slice when there are more runnable threads than
// cores. Time is virtual: a thread that gets a core goes on at the later of its own clock and the core's. Whose turn it
// is among the threads that have cores is VirtualTime's business.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "instr/channel/thread_statistics.h"

namespace simrun::channel {

struct MergeThread;

class CoreSchedule {
 public:
  // No cores: every thread has one of its own.
  // `pins`: cores that threads are bound to, by index modulo their number; empty: none is.
  CoreSchedule(uint32_t cores, uint64_t time_slice, std::vector<uint32_t> pins)
      : cores_(cores), time_slice_(time_slice), pins_(std::move(pins)) {}
  bool is_on() const { return !cores_.empty(); }

  // A new thread: the core of its index modulo their number becomes its own, or the next one that belongs to nobody. It
  // runs there when it can, so that threads stay where they are as long as there are enough cores.
  void adopt(MergeThread& thread);
  // It wants to run. False: no core is free, it waits for one.
  bool enter(MergeThread& thread);
  // It does not want to run any more. The thread that gets its core, or null.
  MergeThread* leave(MergeThread& thread);
  // At the end of a turn: if its slice is over and somebody waits, that thread gets its core and it waits. Else null.
  MergeThread* rotate(MergeThread& thread);
  // Threads wait for a core.
  bool is_awaited() const { return !waiting_.empty(); }
  // It is gone, after leave(), or will be: its core belongs to nobody.
  void forget(MergeThread& thread);

  std::vector<CoreReport> reports() const;

 private:
  static constexpr uint32_t kNobody = ~uint32_t{0};
  struct Core {
    MergeThread* owner = nullptr;
    MergeThread* running = nullptr;
    uint32_t last_index = kNobody;  // of the thread that ran here last
    uint64_t free_at = 0;
    CoreReport report;
  };
  uint32_t find_idle(const MergeThread& thread) const;
  MergeThread* first_waiting_for(uint32_t core) const;
  void place(MergeThread& thread, uint32_t core);
  void take_off(MergeThread& thread);
  MergeThread* hand_on(uint32_t core);

  std::vector<Core> cores_;
  uint64_t time_slice_;
  std::vector<uint32_t> pins_;
  std::deque<MergeThread*> waiting_;
};

}  // namespace simrun::channel
