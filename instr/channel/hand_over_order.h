// Of calls that wait for a pipe, a connection, a queue and the like the kernel does not say who let them go on. Whoever is back from one goes on behind all
// calls that give something there and that others had made before it was back: these are in tables (border::HandOver), read or not (docs/order.md).
// What is mostly given back by who took it (a lock, a token) makes nobody wait who has not waited, and then for the last that was given only: who had it
// before is the host's doing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
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
  void forget(const MergeThread& thread);

 private:
  struct Give {
    uint64_t time, place;   // as border::HandOver has them
  };
  // Of one thread on one object.
  struct Gives {
    uint64_t made = 0, taken = 0;   // in all
    std::vector<Give> list;       // oldest first
    size_t read = 0;              // of these, from the first on
    uint64_t last_read = 0;       // the time of the last that has been; 0: none
    void take_read(const MergeThread& thread);
    const Give* last_before(uint64_t time) const;   // of those that have not been read; null: none
  };
  struct Object {
    std::unordered_map<MergeThread*, Gives> threads;
    uint64_t taken = 0, given_back = 0;   // `given_back`: of these, as far as who took them has given as many
    // Not by a few, as of a loop that has woken itself or a semaphore that is filled by who takes it.
    bool is_token() const { return given_back > 4 && 2 * given_back >= taken; }
  };

  void take_new(MergeThread& thread);
  Object& object_of(uint64_t name);
  void note_behind(MergeThread& thread, const HandOverTake& back);

  // Those of which all has been read leave when there are twice as many: of a server's connections there may be any number.
  std::unordered_map<uint64_t, Object> objects_;
  size_t most_objects_ = 1024;
};

}  // namespace simrun::channel
