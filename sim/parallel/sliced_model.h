// One machine simulated by several host threads, in three steps (decision 24):
//   1. Who has the references writes them down, or words that they can be made of later: stretches of the one order.
//   2. Each stretch is filtered by itself: what are hits of level 1 whatever the caches hold is left out
//      (reference_lister.h). Stretches do not depend on each other, so as many are filtered at a time as there are threads.
//   3. What is left is simulated. The lines are dealt out to slices by the low bits of their numbers; a slice has its
//      share of the sets of every cache, so every set, every line's state and every recency order lies in one slice, and
//      the counts of the slices add up to what one Hierarchy counts (tests/sim/slices_test.cpp). Each slice takes the
//      stretches in their order, one thread at a time (replay_groups.h).
// The one who has the references does such work too when there is no room for another stretch.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "sim/hierarchy.h"
#include "sim/parallel/reference_lister.h"
#include "sim/parallel/replay_groups.h"

namespace simrun::sim {

class SlicedModel {
 public:
  // Words in a stretch, two or more: a filter begins anew with each, and one is all that a thread can do at a time.
  static constexpr size_t kStretchWords = 65536;

  // Makes the references of words (step 2), for several threads at the same time.
  class Maker {
   public:
    virtual ~Maker() = default;
    // `thread`: 0 to threads() - 1; `to`: always the same for the same thread.
    virtual void make(uint32_t thread, ReferenceLister& to, std::span<const uint64_t> words) = 0;
  };

  // Why the machine cannot be cut into `threads` slices or more: one line; empty if it can.
  static std::string find_obstacle(const MachineConfig& config, uint32_t threads);

  // Throws UserError if there is an obstacle.
  SlicedModel(const MachineConfig& config, uint32_t threads, size_t stretch_words = kStretchWords);
  ~SlicedModel();
  SlicedModel(const SlicedModel&) = delete;
  SlicedModel& operator=(const SlicedModel&) = delete;

  uint32_t cores() const { return config_.cores; }
  uint32_t line_bytes() const { return config_.line_bytes; }
  uint32_t slices() const { return static_cast<uint32_t>(slices_.size()); }
  uint32_t threads() const { return static_cast<uint32_t>(listers_.size()); }
  bool wants_pc() const { return false; }
  void set_pc(uint64_t) {}

  // As Hierarchy has them.
  void access_line(uint32_t core, Access kind, uint64_t line) {
    work_for(core);
    put(pack(kind, line));
  }
  void access_further_line(uint32_t core, Access kind, uint64_t line) {
    work_for(core);
    if (end_ - next_ < 2) send();  // both in one stretch
    *next_++ = kFurtherFollows;
    put(pack(kind, line));
  }
  void access(uint32_t core, Access kind, uint64_t address, uint32_t bytes) {
    ReferenceLister::for_each_line(address, bytes, line_shift_, [&](uint64_t line, bool is_first) {
      is_first ? access_line(core, kind, line) : access_further_line(core, kind, line);
    });
  }
  void run_thread(uint32_t core, uint32_t thread) { begin_piece(core, thread); }
  // `maker` will make the next references of `core`, which get `head` and `words`, one behind the other; it and what
  // they mean must stay until settle().
  void make_later(uint32_t core, Maker& maker, std::span<const uint64_t> head, std::span<const uint64_t> words);

  // For who cannot give references to others to make: from here on it lists all of them, run_thread() among them, in what this
  // returns, by itself. Slices take them as ever.
  ReferenceLister& list_from_here();

  // All references are made; not all of them are simulated. Throws nothing.
  void settle();
  // Of everything so far: waits for the threads. Like all that gives references, throws what went wrong in them.
  Statistics statistics();
  bool check_invariants(std::string* why);

 private:
  static constexpr size_t kMostPieces = 4096;
  // Of a stretch, until the slices take them: a few words can be any number of references (repeated strings).
  static constexpr uint64_t kMostBatches = 64;

  // Words of a stretch that are alike.
  struct Piece {
    uint32_t core = 0;
    uint32_t thread = Group::kSameThread;  // else: it runs on the core from here on
    Maker* maker = nullptr;                // null: packed references
    size_t end = 0;
  };
  struct Stretch {
    std::vector<uint64_t> words;
    std::vector<Piece> pieces;
    std::vector<Batch> batches;  // number i in [i % kMostBatches]
    uint64_t begun = 0;          // batches: the last one is being filled, if not all is listed
    bool is_listed = false;

    uint64_t complete() const { return begun - (begun != 0 && !is_listed ? 1 : 0); }
  };
  class Listing;
  struct OneSlice {
    std::unique_ptr<Hierarchy> model;
    std::unique_ptr<GroupReplay> replay;
    uint64_t done = 0;   // stretches
    uint64_t batch = 0;  // done of the next one
    bool busy = false;
  };

  Stretch& stretch(uint64_t number) { return stretches_[number % stretches_.size()]; }
  void work_for(uint32_t core) {
    if (core != piece_.core) [[unlikely]]
      begin_piece(core, Group::kSameThread);
  }
  void put(uint64_t word) {
    *next_ = word;
    if (++next_ == end_) [[unlikely]]
      send();
  }
  void begin_piece(uint32_t core, uint32_t thread);
  void end_piece();
  void begin_stretch();
  void send();
  void list(uint64_t number, uint32_t thread);
  Batch& next_batch(uint64_t number, uint32_t thread);
  bool has_room(uint64_t number);
  void wait_for_change(std::unique_lock<std::mutex>& lock);
  void notify() {
    if (waiting_ != 0) changed_.notify_all();
  }
  void begin_own_listing();
  void end_own_listing();
  void wait();
  template <class IsDone>
  void help_until(std::unique_lock<std::mutex>& lock, IsDone is_done);
  template <class Do>
  void apart(std::unique_lock<std::mutex>& lock, Do work);
  uint64_t all_done() const;
  void run(uint32_t thread);
  void end_threads();
  bool work(std::unique_lock<std::mutex>& lock, uint32_t thread);
  bool replay_one(std::unique_lock<std::mutex>& lock, uint32_t thread);
  bool list_one(std::unique_lock<std::mutex>& lock, uint32_t thread);

  MachineConfig config_;
  const uint32_t line_shift_;
  const size_t stretch_words_;

  // Of the one who has the references: the stretch under way, number `sent_`.
  Piece piece_;
  uint64_t *next_ = nullptr, *end_ = nullptr;

  std::unique_ptr<Listing> own_listing_;  // of stretch sent_ - 1, which is under way then, by the first of the listers

  std::vector<Stretch> stretches_;                          // number i in [i % size]
  std::vector<std::unique_ptr<ReferenceLister>> listers_;  // of each thread
  std::vector<OneSlice> slices_;
  std::vector<Batch> discarded_;  // of each thread, after a failure
  std::mutex mutex_;  // guards what follows, and of stretches and slices what is counted
  std::condition_variable changed_;
  uint64_t sent_ = 0;            // stretches: complete
  uint64_t taken_ = 0;           // stretches: listed, or being listed
  uint64_t listed_ = 0;          // stretches: how many
  uint32_t waiting_ = 0;         // threads
  bool ends_ = false;
  std::exception_ptr failure_;   // the first; what comes after it counts for nothing
  std::vector<std::thread> threads_;
};

}  // namespace simrun::sim
