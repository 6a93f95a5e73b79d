// A thread that works through batches of references in the order in which they are put. The one who puts waits while
// more than a few batches are unread, so memory is bounded. One thread puts.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace simrun::sim {

template <class Reference>
class Lane {
 public:
  using Batch = std::shared_ptr<const std::vector<Reference>>;

  explicit Lane(std::function<void(const std::vector<Reference>&)> work)
      : work_(std::move(work)), thread_([this] { run(); }) {}
  ~Lane() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void put(Batch batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return batches_.size() < kMostWaiting; });
    batches_.push_back(std::move(batch));
    lock.unlock();
    changed_.notify_all();
  }
  // Until everything that was put is done.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return batches_.empty() && !works_; });
  }

 private:
  static constexpr size_t kMostWaiting = 8;

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || !batches_.empty(); });
      if (batches_.empty()) return;
      const Batch batch = std::move(batches_.front());
      batches_.pop_front();
      works_ = true;
      lock.unlock();
      changed_.notify_all();
      work_(*batch);
      lock.lock();
      works_ = false;
      changed_.notify_all();
    }
  }

  const std::function<void(const std::vector<Reference>&)> work_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Batch> batches_;
  bool works_ = false, ends_ = false;
  std::thread thread_;
};

}  // namespace simrun::sim
