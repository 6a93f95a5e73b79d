// Of calls that wait for a pipe, a connection, a queue and the like the kernel does not say who let them go on. Whoever is back from one goes on behind all
// calls that give something there and that others had made before it was back: these are in tables (border::HandOver), read or not (docs/order.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace simrun::channel {

struct MergeThread;

class HandOverOrder {
 public:
  // Of a blocked thread with words in hand: whether it may run; else FutexCall::hold says why not. `all`: the threads of all processes.
  bool may_go_on(MergeThread& thread, const std::vector<MergeThread*>& all);
  void forget(const MergeThread& thread);

 private:
  struct Give {
    MergeThread* thread;
    uint64_t time, place;   // as border::HandOver has them
  };
  struct Gives {
    std::vector<Give> list;
    size_t most = 64;
  };

  void take_new(MergeThread& thread);
  void forget_read(Gives& gives);
  void forget_read();

  // By object. Those that have been read leave when there are twice as many: of one, or, as of a server's connections, of all.
  std::unordered_map<uint64_t, Gives> gives_;
  size_t most_objects_ = 1024;
};

}  // namespace simrun::channel
