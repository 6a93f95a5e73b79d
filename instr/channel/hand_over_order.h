// Of calls that wait for a pipe, a connection, a queue and the like the kernel does not say who let them go on. Whoever is back from one goes on behind the
// calls that gave what it took: these are in tables (border::HandOver), read or not (docs/order.md). What is counted comes out as it went in, so the n-th that
// is taken is the n-th that was given; of anything else it goes behind all that was given before it was back.
// What is mostly given by who has taken it (a lock, a token) makes nobody wait who has not waited, and then for the last that was given only: who had it
// before is the host's doing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

namespace simrun::channel {

struct MergeThread;
struct HandOverTake;

class HandOverOrder {
 public:
  // What threads have noted since the last time. Of one that has made very many calls since then the oldest are lost.
  void take_new(const std::vector<MergeThread*>& all);
  // Of a blocked thread with words in hand: whether it may run; else FutexCall::hold says why not. `all`: the threads of all processes.
  bool may_go_on(MergeThread& thread, const std::vector<MergeThread*>& all);
  // A thread has begun a call that may block, and has no words behind it: whether what it waits for is there already (is_let_go).
  void enter(MergeThread& thread);
  // It is back from a call. Those that this has let go on, as it seems: they are runnable, and their words are waited for.
  std::vector<MergeThread*> exit(MergeThread& thread);
  // `thread` will be no more.
  void forget(MergeThread& thread);

 private:
  // As border::HandOver has it, without the flags.
  struct Noted {
    MergeThread* by;
    uint64_t object, flags, time, place, units, began;
  };
  struct Give {
    uint64_t time, place;   // as border::HandOver has them
    uint64_t from;          // units given before it, by all
  };
  // Of one thread on one object.
  struct Gives {
    uint64_t made = 0, taken = 0;   // calls in all
    std::vector<Give> list;       // oldest first
    size_t read = 0;              // of these, from the first on
    uint64_t last_read = 0;       // the time of the last that has been; 0: none
    void take_read(const MergeThread& thread);
    const Give* last_before(uint64_t time, uint64_t upto) const;   // of those that have not been read; null: none
  };
  struct Object {
    std::unordered_map<MergeThread*, Gives> threads;
    uint64_t calls = 0, given_back = 0;   // that gave; of these, as far as who made them has taken as often
    uint64_t given = 0, taken = 0;        // units, by all
    bool is_counted = true;
    std::deque<std::pair<uint64_t, uint64_t>> last;   // of the last gives: the time, and the units given with it and before
    uint64_t waits = 0, contradictions = 0;           // takes that waited; of these, what did not fit the count
    bool is_doubted = false;                          // the last of these did not
    uint64_t given_before(uint64_t time) const;   // 0: it is not known any more
    // Not of a few, as a semaphore that is filled by who takes it, nor of a loop that wakes itself as often as others do.
    bool is_token() const { return given_back > 4 && 4 * given_back >= 3 * calls; }
  };

  void pull(MergeThread& thread);
  void note_pulled();
  void leave(MergeThread& thread);
  void note(const Noted& call);
  void take_back(Object& object, const Noted& call);
  static void check_count(Object& object, const Noted& take);
  Object& object_of(uint64_t name);
  void note_behind(MergeThread& thread, const HandOverTake& back);

  std::vector<Noted> pulled_;   // not noted yet; of each thread in its order
  std::unordered_map<uint64_t, std::vector<MergeThread*>> waiting_;   // by object
  // Those of which all has been read leave when there are twice as many: of a server's connections there may be any number.
  std::unordered_map<uint64_t, Object> objects_;
  size_t most_objects_ = 1024;
};

}  // namespace simrun::channel
