// Whose turn it is: virtual time over the threads of all processes (ARCHITECTURE.md, section 5; docs/stream.md has the
// rules in full). Each thread has a clock of retired instructions. The runnable thread with the smallest clock advances
// by one quantum; a runnable thread whose words have not come yet is waited for. This class knows who is runnable,
// held, blocked, set aside or ending; it never looks at references.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "instr/channel/core_schedule.h"
#include "instr/channel/hand_over_order.h"
#include "instr/channel/mapped_process.h"
#include "instr/channel/process_tree.h"
#include "instr/channel/progress_sampler.h"
#include "instr/channel/replay.h"
#include "instr/channel/ring_reader.h"
#include "instr/channel/shared_memory_map.h"
#include "instr/channel/thread_statistics.h"
#include "instr/channel/wake_order.h"

namespace simrun::channel {

struct MergeOptions {
  uint64_t quantum = 1000;          // instructions
  uint32_t line_bytes = 64;         // of instruction fetches
  uint32_t cores = 0;               // of the simulated machine; 0: as many as threads
  uint64_t time_slice = 1'000'000;  // instructions, when more threads are runnable than there are cores
  std::vector<uint32_t> pins;       // thread i runs only on core pins[i modulo their number]; empty: wherever it can
  // Not null: the recorded order, by what it saw; it must outlive the merge.
  ProgressSampler* sampler = nullptr;
  std::chrono::milliseconds stall_time_out{
      50};  // a runnable thread without progress while others have words is then set aside
};

// The call, by which it may wait for a child's end, that a thread is in.
struct WaitCall {
  static constexpr uint32_t kNobody = ~uint32_t{0};
  bool is_in = false;
  uint32_t ended = kNobody;  // a child, read to its end, so that the thread comes back soon: runnable without words
  uint32_t ended_tid = 0;    // its first thread, as the host knows it
  std::chrono::steady_clock::time_point gone_since{};  // the host has done away with that; 0: not that we have seen
  bool is_woken() const { return ended != kNobody; }
};

// A call by which it may have waited for another thread's (border::HandOver).
struct HandOverTake {
  uint64_t object, time, place;
  uint64_t upto;   // units taken with it, by all
  bool waited;
};

struct MergeThread {
  enum class Stage : uint8_t {
    kHeld,  // known, not eligible: its parent has not got there
    kRunnable,
    kReady,    // runnable, but other threads have the cores
    kBlocked,  // in the kernel, waiting in the engine, or about to be replaced by exec; all its words are read
    kAside,    // made no progress while the others waited for it
    kEnding,   // its stream is read to the end; the slot is freed when the producer says that it is dead
  };

  MergeThread(const MappedProcess& mapped, uint32_t process_index, uint32_t slot_index)
      : ring(mapped, slot_index), process(process_index) {
    report.process = process_index;
    report.slot = slot_index;
  }

  RingReader ring;
  const uint32_t process;
  ReplayState replay;
  ThreadReport report;  // statistics live in `replay` until the end
  Stage stage = Stage::kHeld;
  bool created = false;     // kThreadCreate was read: eligible as soon as it has words
  bool needs_more = false;  // the words in hand end amid a path
  uint64_t clock = 0;
  uint64_t turn_end = 0;
  // CoreSchedule's.
  static constexpr uint32_t kNoCore = ~uint32_t{0};
  uint32_t core = kNoCore, last_core = kNoCore, pin = kNoCore;
  uint64_t slice_end = 0;
  uint64_t placed_at = 0;                                // its instructions when it got the core
  uint64_t counted = 0;                                  // count mode: instructions that it has reported
  FutexCall futex;
  WaitCall wait;
  uint64_t hand_overs_taken = 0;                         // of its slot's
  bool lost_hand_overs = false;                          // some of these: it had made more than are kept
  std::deque<HandOverTake> takes;                        // of these, from the call on that it is in
  std::deque<std::pair<uint64_t, uint64_t>> gives;       // of these, likewise: objects and places
  uint64_t waits_on = 0;                                 // the object of the call that it is in, by which it may wait for others; 0: none
  bool is_let_go = false;                                // by what has been given there, as it seems: runnable without words
  bool has_yielded = false;
  uint64_t yielded_at = 0;                               // its clock at its last sched_yield
  uint32_t yields = 0, turns_passed = 0;                 // in a row, with little between them
  bool may_pass_turn = false;                            // nobody has had a turn since
  std::vector<uint32_t> unborn;                          // slots of children created and not yet made eligible
  std::chrono::steady_clock::time_point waited_since{};  // 0: nobody waits for it
  int excuses = 0;                                       // times meanwhile that it wanted a processor and had none
};

// Where a process came from.
struct Origin {
  enum class Kind : uint8_t { kNone, kFork, kExec } kind = Kind::kNone;  // kNone: launched, or attached to
  uint32_t parent = 0;     // kFork: the process that forked; kExec: the one that it replaces
  uint64_t token = 0;      // kFork: as in the parent's kProcessFork
  uint32_t root_slot = 0;  // of its first thread
};

// What became of a child that a stream announces.
enum class ChildState : uint8_t {
  kPending,   // it may still be added
  kFollowed,  // it has been or is about to be added
  kNative,    // it is not part of this simulation
};

class VirtualTime {
 public:
  using Start = std::function<uint32_t(const ThreadReport&)>;  // Sink::start_thread
  using RunOn = std::function<uint32_t(const ThreadReport&)>;  // Sink::run_on
  // (parent, token, pid): what became of the child that the stream of `parent` announces.
  using FindChild = std::function<ChildState(uint32_t, uint64_t, uint64_t)>;
  // Whether there is what `process` became by exec, to be added.
  using FindImage = std::function<bool(uint32_t process)>;

  VirtualTime(const MergeOptions& options, Start start);
  // Called when a thread gets a core (ThreadReport::core), with MergeOptions::cores; returns its new handle.
  void set_run_on(RunOn run_on) { run_on_ = std::move(run_on); }
  void set_find_child(FindChild find_child) { find_child_ = std::move(find_child); }
  void set_find_image(FindImage find_image) { find_image_ = std::move(find_image); }

  // Whether it is the turn of a process from there to be added, so that indices are in the order of births in virtual time: it has been announced,
  // or nobody is left who would.
  bool is_expected(const Origin& origin) const;
  // Another process; returns its index. `mapped` must stay until forget(). One may be added before it is expected; it waits.
  uint32_t add_process(const MappedProcess& mapped, const Origin& origin);
  // Whether a process may still write. When not, what is there is read and then each of its streams ends.
  void set_alive(uint32_t process, bool alive);
  // All that it wrote has been read, and it will not write any more: forget() it, then its mapping may go.
  bool is_done(uint32_t process) const;
  void forget(uint32_t process);

  // The thread whose turn it is, with words in hand; nullptr: nothing can be done now (wait), or finished().
  MergeThread* next();
  // Threads of processes that were launched or attached to, which nobody in them created: at attach they come when they come. Now and then, before next().
  void look_for_attached();
  bool finished() const;
  // Announced children that were to be followed and are not.
  uint64_t native_children() const { return native_children_; }
  // Nothing that the process's threads have written is left to be read. None of them runs.
  bool has_read_all(uint32_t process);
  bool waits_for_runnable() const { return waits_for_runnable_; }

  // Events of `thread`'s stream.
  void create_child(MergeThread& thread, uint64_t slot);
  void drop_child(MergeThread& thread, uint64_t slot);           // its creation failed
  void release_children(MergeThread& thread);                    // the parent went on: they are eligible from here
  void enter_call(MergeThread& thread, std::span<const uint64_t> payload);  // kSyscallEnter
  void exit_call(MergeThread& thread, std::span<const uint64_t> payload);   // kSyscallExit
  void change_mapping(const MergeThread& thread, std::span<const uint64_t> payload) { processes_[thread.process]->shared.change(payload); }  // kMappingChange
  void leave(MergeThread& thread);                               // no longer runnable until words appear
  void end(MergeThread& thread);                                 // kThreadEnd
  void fork(MergeThread& thread, uint64_t pid, uint64_t token);  // kProcessFork of a child to be followed
  void exec(MergeThread& thread);                                // kExec of a followed image

  // Ended and living threads, by index. Statistics up to date.
  std::vector<ThreadReport> reports() const;
  std::vector<CoreReport> core_reports() const { return schedule_.reports(); }

 private:
  struct Process {
    const MappedProcess* mapped;
    Origin origin;
    bool alive = true;
    bool held = false;      // its origin has not been read yet: no thread of it is eligible
    bool searched = false;  // for threads, since it is no longer alive
    uint32_t live = 0;      // known threads that are not yet ending
    std::vector<std::unique_ptr<MergeThread>> by_slot;
    WakeOrder wakes;
    SharedMemory shared;
  };
  // An announced process: nothing goes on before it is clear what became of it.
  struct Expected {
    Origin::Kind kind;
    MergeThread* thread;  // that announced it
    uint64_t token, pid;
    uint64_t clock;
  };

  WakeOrder& wakes_of(const MergeThread& thread) { return thread.futex.is_shared ? shared_wakes_ : processes_[thread.process]->wakes; }
  MergeThread& know(uint32_t process, uint32_t slot);
  void name(MergeThread& thread, uint64_t clock);
  void start(MergeThread& thread);
  void name_and_start(MergeThread& thread);
  bool has_words(MergeThread& thread);
  void poll(MergeThread& thread);
  void poll_all();
  void look_for_threads();
  void start_roots();
  void start_roots(uint32_t process);
  uint32_t parent_slot(MergeThread& thread);
  MergeThread* first_orphan();
  MergeThread* first_orphan(Process& process);
  bool waits_for_children();
  bool is_settled(const Expected& expected);
  std::vector<Expected>::const_iterator announcement(const Origin& origin) const;
  bool may_announce(uint32_t process) const;
  void begin(uint32_t process, uint64_t clock, uint64_t pid = 0);
  bool has_been_read(uint32_t process) const;
  bool may_leave_wait(MergeThread& thread) const;
  void wake_parent(uint32_t process);
  bool its_child_still_ends(MergeThread& thread) const;
  void release_held_orphans();
  MergeThread* smallest_clock();
  MergeThread* next_recorded();
  MergeThread* smallest_clock_within_look();
  uint64_t smallest_clock_of_others(const MergeThread& thread) const;
  void yield(MergeThread& thread);
  bool pass_turn(MergeThread& thread);
  static bool polls(const MergeThread& thread);
  uint64_t clock_of_work(const MergeThread& thread) const;
  bool step_back(MergeThread& thread);
  bool stalled(MergeThread& thread);
  void rejoin(MergeThread& thread);
  void release(MergeThread& thread);
  void take_last_count(MergeThread& thread);
  void set_stage(MergeThread& thread, MergeThread::Stage stage);
  void run(MergeThread& thread);
  void rotate(MergeThread& thread);
  ThreadReport report_of(const MergeThread& thread) const;
  bool alive(const MergeThread& thread) const { return processes_[thread.process]->alive; }

  MergeOptions options_;
  Start start_;
  RunOn run_on_;
  FindChild find_child_;
  FindImage find_image_;
  CoreSchedule schedule_;
  ProcessTree tree_;
  std::vector<std::unique_ptr<Process>> processes_;  // by index; null when forgotten
  WakeOrder shared_wakes_;                           // of futexes that processes share
  HandOverOrder hand_overs_;
  uint32_t polls_ = 0;
  std::vector<uint32_t> without_origin_;             // of these, those that were launched or attached to
  std::vector<Expected> expected_;
  std::vector<MergeThread*> known_;  // in order of discovery
  MergeThread* current_ = nullptr;   // its turn is not over
  uint32_t live_ = 0;                // known and not yet ending
  uint32_t waiting_ = 0;             // known and not runnable: have to be polled
  uint32_t next_index_ = 0;
  uint64_t left_at_ = 0;  // the highest clock at which a thread ceased to be runnable
  uint64_t native_children_ = 0;
  bool waits_for_runnable_ = false;
  std::vector<ThreadReport> ended_;
};

}  // namespace simrun::channel
