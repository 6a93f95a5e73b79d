// How far every thread was, time and again: for the recorded order (docs/order.md). A host thread looks at the buffer
// pointers of all rings each period, which the threads store at each superblock then (ProcessHeader::live_words). Between two looks nothing is known, so
// the period is how exact the order is.
//
// A *place* is where a thread writes next, in bytes from the start of its stream with every chunk counted as full, so
// that reader and sampler mean the same.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "instr/channel/mapped_process.h"

namespace simrun::channel {

class ProgressSampler {
 public:
  // 0: no host thread; who has it calls sample().
  explicit ProgressSampler(std::chrono::microseconds period);
  ~ProgressSampler();

  // `process`: its index; `mapped` must stay until remove().
  void add(uint32_t process, const MappedProcess& mapped);
  void remove(uint32_t process);
  // No look from now on: before mappings go that were not removed.
  void stop();
  // Looks now.
  void sample();

  // The reader's side, one thread: what was seen at the look in hand. Words before this place had been written by then.
  // A thread that this look did not see: 0.
  uint64_t limit(uint32_t process, uint32_t slot) const;
  // Goes on to the next look; looks when there is none. False: nobody has moved since the one in hand.
  bool next();

 private:
  using Look = std::vector<std::vector<uint64_t>>;  // by process, by slot
  // About 0.4 s of looks; when the reader is further behind (the rings bound that), looks are left out.
  static constexpr size_t kMostLooks = 4096;

  void run(std::chrono::microseconds period);
  void sample_locked();

  std::mutex mutex_;  // guards what follows, up to current_
  std::condition_variable ends_changed_;
  bool ends_ = false;
  std::map<uint32_t, const MappedProcess*> processes_;
  std::deque<Look> looks_;
  Look last_;     // the newest one
  Look current_;  // the reader's alone
  std::thread thread_;
};

// Where the thread in a slot writes next.
uint64_t place_of(const MappedProcess& process, uint32_t slot);

}  // namespace simrun::channel
