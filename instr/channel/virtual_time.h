// Whose turn it is: virtual time over the threads of a target (ARCHITECTURE.md, section 5; docs/stream.md has the rules
// in full). Each thread has a clock of retired instructions. The runnable thread with the smallest clock advances by
// one quantum; a runnable thread whose words have not come yet is waited for. This class knows who is runnable, held,
// blocked, set aside or ending; it never looks at references.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "instr/channel/mapped_process.h"
#include "instr/channel/replay.h"
#include "instr/channel/ring_reader.h"
#include "instr/channel/thread_statistics.h"

namespace simrun::channel {

struct MergeOptions {
  uint64_t quantum = 1000;   // instructions
  uint32_t line_bytes = 64;  // of instruction fetches
  std::chrono::milliseconds stall_time_out{
      50};  // a runnable thread without progress while others have words is then set aside
};

struct MergeThread {
  enum class Stage : uint8_t {
    kHeld,  // known, not eligible: its parent has not got there
    kRunnable,
    kBlocked,  // in the kernel, waiting in the engine, or about to be replaced by exec; all its words are read
    kAside,    // made no progress while the others waited for it
    kEnding,   // its stream is read to the end; the slot is freed when the producer says that it is dead
  };

  MergeThread(const MappedProcess& process, uint32_t slot_index) : ring(process, slot_index) {
    report.slot = slot_index;
  }

  RingReader ring;
  ReplayState replay;
  ThreadReport report;  // statistics live in `replay` until the end
  Stage stage = Stage::kHeld;
  bool created = false;     // kThreadCreate was read: eligible as soon as it has words
  bool needs_more = false;  // the words in hand end amid a path
  uint64_t clock = 0;
  uint64_t turn_end = 0;
  uint64_t counted = 0;                                  // count mode: instructions that it has reported
  std::vector<uint32_t> unborn;                          // slots of children created and not yet made eligible
  std::chrono::steady_clock::time_point waited_since{};  // 0: nobody waits for it
};

class VirtualTime {
 public:
  using Start = std::function<uint32_t(const ThreadReport&)>;  // Sink::start_thread

  VirtualTime(const MappedProcess& process, const MergeOptions& options, Start start);

  // The thread whose turn it is, with words in hand; nullptr: nothing can be done now (wait), or finished().
  // `alive`: the target may still write. When false, what is there is read and then each stream ends.
  MergeThread* next(bool alive);
  bool finished(bool alive) const { return !alive && live_ == 0; }
  bool waits_for_runnable() const { return waits_for_runnable_; }

  // Events of `thread`'s stream.
  void create_child(MergeThread& thread, uint64_t slot);
  void drop_child(MergeThread& thread, uint64_t slot);  // its creation failed
  void release_children(MergeThread& thread);           // the parent went on: they are eligible from here
  void leave(MergeThread& thread);                      // no longer runnable until words appear
  void end(MergeThread& thread);                        // kThreadEnd

  // Ended and living threads, by index. Statistics up to date.
  std::vector<ThreadReport> reports() const;

 private:
  MergeThread& know(uint32_t slot);
  void name(MergeThread& thread, uint64_t clock);
  void start(MergeThread& thread);
  void name_and_start(MergeThread& thread);
  bool has_words(MergeThread& thread, bool alive);
  void poll(MergeThread& thread, bool alive);
  void poll_all(bool alive);
  void look_for_roots(bool alive);
  MergeThread* smallest_clock();
  uint64_t smallest_clock_of_others(const MergeThread& thread) const;
  bool step_back(MergeThread& thread, bool alive);
  bool stalled(MergeThread& thread, bool alive);
  void rejoin(MergeThread& thread);
  void release(MergeThread& thread);
  void take_last_count(MergeThread& thread);
  void set_stage(MergeThread& thread, MergeThread::Stage stage);
  ThreadReport report_of(const MergeThread& thread) const;

  const MappedProcess& process_;
  MergeOptions options_;
  Start start_;
  std::vector<std::unique_ptr<MergeThread>> by_slot_;
  std::vector<MergeThread*> known_;  // in order of discovery
  MergeThread* current_ = nullptr;   // its turn is not over
  uint32_t live_ = 0;                // known and not yet ending
  uint32_t waiting_ = 0;             // known and not runnable: have to be polled
  uint32_t next_index_ = 0;
  bool waits_for_runnable_ = false;
  std::vector<ThreadReport> ended_;
};

}  // namespace simrun::channel
