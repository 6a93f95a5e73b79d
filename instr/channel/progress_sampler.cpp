#include "instr/channel/progress_sampler.h"

#include <utility>

namespace simrun::channel {

// As RingReader::read_current_chunk reads it: produced, written, produced again.
uint64_t place_of(const MappedProcess& process, uint32_t slot) {
  const border::ThreadSlot& s = process.slot(slot);
  const uint64_t chunk_bytes = uint64_t{process.chunk_words()} * 8;
  uint64_t produced = s.ring.produced.load(std::memory_order_acquire);
  for (;;) {
    const uint64_t written = process.written(slot).load(std::memory_order_acquire);
    const uint64_t again = s.ring.produced.load(std::memory_order_acquire);
    if (again == produced) {
      if (written == 0) return 0;  // nobody has written here
      const uint64_t chunk = process.ring_target_address(slot) + produced % process.ring_chunks() * chunk_bytes;
      // Outside its chunk: a switch is going on.
      return produced * chunk_bytes + (written - chunk < chunk_bytes ? written - chunk : chunk_bytes);
    }
    produced = again;
  }
}

ProgressSampler::ProgressSampler(std::chrono::microseconds period) {
  if (period.count() != 0) thread_ = std::thread([this, period] { run(period); });
}

ProgressSampler::~ProgressSampler() { stop(); }

void ProgressSampler::stop() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    processes_.clear();
  }
  ends_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ProgressSampler::run(std::chrono::microseconds period) {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    sample_locked();
    ends_changed_.wait_for(lock, period);
  }
}

void ProgressSampler::add(uint32_t process, const MappedProcess& mapped) {
  const std::lock_guard lock(mutex_);
  processes_[process] = &mapped;
}

void ProgressSampler::remove(uint32_t process) {
  const std::lock_guard lock(mutex_);
  processes_.erase(process);
}

void ProgressSampler::sample() {
  const std::lock_guard lock(mutex_);
  sample_locked();
}

void ProgressSampler::sample_locked() {
  Look look(processes_.empty() ? 0 : processes_.rbegin()->first + 1);
  for (const auto& [index, mapped] : processes_)
    for (uint32_t slot = 0; slot < mapped->slots_used(); ++slot) look[index].push_back(place_of(*mapped, slot));
  if (look == last_) return;
  last_ = look;
  if (looks_.size() == kMostLooks) looks_.pop_back();
  looks_.push_back(std::move(look));
}

uint64_t ProgressSampler::limit(uint32_t process, uint32_t slot) const {
  return process < current_.size() && slot < current_[process].size() ? current_[process][slot] : 0;
}

bool ProgressSampler::next() {
  const std::lock_guard lock(mutex_);
  if (looks_.empty()) sample_locked();
  if (looks_.empty()) return false;
  current_ = std::move(looks_.front());
  looks_.pop_front();
  return true;
}

}  // namespace simrun::channel
