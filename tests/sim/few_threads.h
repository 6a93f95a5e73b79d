// A process that can make a few threads more and no others, as with `ulimit -u`, which does not hold for root: each is to have a
// stack of a GiB, and there is room for `count` of them.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace simrun::test {

class FewThreads {
 public:
  explicit FewThreads(uint64_t count) {
    pthread_getattr_default_np(&before_);
    pthread_attr_t large;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, kStack);
    pthread_setattr_default_np(&large);
    pthread_attr_destroy(&large);
    getrlimit(RLIMIT_AS, &limit_);
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit few{pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + count * kStack + kStack / 2, limit_.rlim_max};
    setrlimit(RLIMIT_AS, &few);
  }
  ~FewThreads() {
    setrlimit(RLIMIT_AS, &limit_);
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;

 private:
  static constexpr uint64_t kStack = uint64_t{1} << 30;
  pthread_attr_t before_;
  rlimit limit_;
};

}  // namespace simrun::test
