// A thread that works through batches in the order in which they are put. The one who puts waits while more than a few
// are unread, so memory is bounded. One thread puts.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace simrun::sim {

template <class Batch>
class Lane {
 public:
  // What `work` throws, put() and throw_failure() throw; what was put behind it is not worked on.
  explicit Lane(std::function<void(const Batch&)> work)
      : work_(std::move(work)), thread_([this] { run(); }) {}
  ~Lane() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void put(std::shared_ptr<const Batch> batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return batches_.size() < kMostWaiting; });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    batches_.push_back(std::move(batch));
    lock.unlock();
    changed_.notify_all();
  }
  // Until everything that was put is done.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return batches_.empty() && !works_; });
  }
  void throw_failure() {
    const std::lock_guard lock(mutex_);
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  static constexpr size_t kMostWaiting = 4;

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || !batches_.empty(); });
      if (batches_.empty()) return;
      const std::shared_ptr<const Batch> batch = std::move(batches_.front());
      batches_.pop_front();
      works_ = true;
      const bool failed = failure_ != nullptr;
      lock.unlock();
      changed_.notify_all();
      const std::exception_ptr failure = failed ? nullptr : work_on(*batch);
      lock.lock();
      if (failure != nullptr) failure_ = failure;
      works_ = false;
      changed_.notify_all();
    }
  }
  std::exception_ptr work_on(const Batch& batch) {
    try {
      work_(batch);
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  const std::function<void(const Batch&)> work_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::shared_ptr<const Batch>> batches_;
  bool works_ = false, ends_ = false;
  std::exception_ptr failure_;  // the first
  std::thread thread_;
};

}  // namespace simrun::sim
