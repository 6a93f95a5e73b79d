#include "sim/parallel/sliced_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/user_error.h"
#include "sim/build/validate_machine.h"
#include "sim/replacement/replacement.h"

namespace simrun::sim {

std::string SlicedModel::find_obstacle(const MachineConfig& m, uint32_t threads) {
  if (const auto problem = find_problem(m)) return problem->message;
  if (m.tlb) return "TLBs see pages, not lines: a machine with TLBs cannot be cut into slices";
  if (m.addresses != Addresses::kVirtual) return "first-touch addresses cannot be cut into slices";
  const uint32_t slices = std::bit_ceil(threads);
  for (const LevelConfig& level : m.levels) {
    if (!is_set_local(level.replacement))
      return fmt::format("{}: dip, drrip and ship choose by what happens in all sets, which cannot be cut into slices",
                         level.name);
    for (const CacheShape* shape : {&level.unified, &level.instruction, &level.data}) {
      if (shape->ways == 0) continue;
      if (!shape->prefetch.empty())
        return fmt::format("{}: prefetchers cross lines and cannot be cut into slices", level.name);
      const uint64_t sets = shape->size_bytes / shape->ways / m.line_bytes;
      if (sets % slices != 0)
        return fmt::format("{} has {} sets, which cannot be cut into {} slices", level.name, sets, slices);
    }
  }
  return "";
}

SlicedModel::SlicedModel(const MachineConfig& config, uint32_t threads, size_t stretch_words)
    : config_(config),
      line_shift_(static_cast<uint32_t>(std::countr_zero(config.line_bytes))),
      stretch_words_(stretch_words) {
  const std::string obstacle = find_obstacle(config, threads);
  if (!obstacle.empty()) throw UserError(config.name + ": " + obstacle, 2);
  const uint32_t slices = std::bit_ceil(threads);
  for (uint32_t i = 0; i < slices; ++i) {
    auto model = std::make_unique<Hierarchy>(config, Slice{slices, i});
    auto replay = std::make_unique<GroupReplay>(*model, i, slices);
    slices_.push_back({std::move(model), std::move(replay)});
  }
  for (uint32_t i = 0; i < threads; ++i) listers_.push_back(std::make_unique<ReferenceLister>(config));
  // One that is written, for each thread one to list, and as many that wait for a slice.
  stretches_.resize(1 + 2 * threads);
  begin_stretch();
  for (uint32_t i = 1; i < threads; ++i) threads_.emplace_back([this, i] { run(i); });
}

SlicedModel::~SlicedModel() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void SlicedModel::begin_stretch() {
  Stretch& s = stretch(sent_);
  if (s.words.size() < stretch_words_) s.words.resize(stretch_words_);
  s.pieces.clear();
  s.is_listed = false;
  next_ = s.words.data(), end_ = next_ + s.words.size();
  piece_ = {.core = piece_.core};
}

void SlicedModel::end_piece() {
  Stretch& s = stretch(sent_);
  piece_.end = static_cast<size_t>(next_ - s.words.data());
  const size_t begin = s.pieces.empty() ? 0 : s.pieces.back().end;
  if (piece_.end != begin || piece_.thread != Group::kSameThread) s.pieces.push_back(piece_);
  piece_ = {.core = piece_.core};
}

void SlicedModel::begin_piece(uint32_t core, uint32_t thread) {
  end_piece();
  if (stretch(sent_).pieces.size() >= kMostPieces) send();
  piece_.core = core, piece_.thread = thread;
}

void SlicedModel::make_later(uint32_t core, Maker& maker, std::span<const uint64_t> head,
                             std::span<const uint64_t> words) {
  const size_t size = head.size() + words.size();
  if (static_cast<size_t>(end_ - next_) <= size) {
    send();
    Stretch& s = stretch(sent_);
    if (s.words.size() <= size) {
      s.words.resize(size + 1);
      next_ = s.words.data(), end_ = next_ + s.words.size();
    }
  }
  begin_piece(core, Group::kSameThread);
  piece_.maker = &maker;
  next_ = std::copy(words.begin(), words.end(), std::copy(head.begin(), head.end(), next_));
  end_piece();
}

void SlicedModel::send() {
  end_piece();
  if (stretch(sent_).pieces.empty()) return;
  std::unique_lock lock(mutex_);
  ++sent_;
  if (idle_ != 0) work_.notify_one();
  if (sent_ - all_done() == stretches_.size()) help_until(lock, [&] { return sent_ - all_done() < stretches_.size(); });
  lock.unlock();
  begin_stretch();
}

void SlicedModel::list(Stretch& s, uint32_t thread) {
  ReferenceLister& lister = *listers_[thread];
  lister.begin(s.listed);
  const uint64_t* at = s.words.data();
  for (const Piece& piece : s.pieces) {
    if (piece.thread != Group::kSameThread)
      lister.run_thread(piece.core, piece.thread);
    else
      lister.work_for(piece.core);
    const uint64_t* const end = s.words.data() + piece.end;
    if (piece.maker != nullptr)
      piece.maker->make(thread, lister, {at, end});
    else
      lister.take(piece.core, at, end);
    at = end;
  }
  lister.end();
}

template <class IsDone>
void SlicedModel::help_until(std::unique_lock<std::mutex>& lock, IsDone is_done) {
  while (!is_done())
    if (!work(lock, 0)) {
      is_awaited_ = true;
      progress_.wait(lock);
      is_awaited_ = false;
    }
}

uint64_t SlicedModel::all_done() const {
  return std::min_element(slices_.begin(), slices_.end(), [](auto& a, auto& b) { return a.done < b.done; })->done;
}

void SlicedModel::run(uint32_t thread) {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (work(lock, thread)) continue;
    ++idle_;
    work_.wait(lock);
    --idle_;
  }
}

// One step of what there is; false: there is nothing. The oldest first, which makes room.
bool SlicedModel::work(std::unique_lock<std::mutex>& lock, uint32_t thread) {
  if (!replay_one(lock, thread) && !list_one(lock, thread)) return false;
  if (idle_ != 0) work_.notify_one();
  if (is_awaited_) progress_.notify_one();
  return true;
}

// The next stretch of a slice. Threads begin with different slices, so that each mostly stays with its own.
bool SlicedModel::replay_one(std::unique_lock<std::mutex>& lock, uint32_t thread) {
  for (uint32_t i = 0; i < slices(); ++i) {
    OneSlice& slice = slices_[(thread + i) % slices()];
    if (slice.busy || slice.done == sent_ || !stretch(slice.done).is_listed) continue;
    slice.busy = true;
    lock.unlock();
    for (const Batch& batch : stretch(slice.done).listed) slice.replay->run(batch);
    lock.lock();
    slice.busy = false;
    ++slice.done;
    return true;
  }
  return false;
}

bool SlicedModel::list_one(std::unique_lock<std::mutex>& lock, uint32_t thread) {
  if (taken_ == sent_) return false;
  Stretch& s = stretch(taken_++);
  lock.unlock();
  list(s, thread);
  lock.lock();
  s.is_listed = true;
  ++listed_;
  return true;
}

void SlicedModel::settle() {
  send();
  std::unique_lock lock(mutex_);
  help_until(lock, [&] { return listed_ == sent_; });
}

void SlicedModel::wait() {
  send();
  std::unique_lock lock(mutex_);
  help_until(lock, [&] { return all_done() == sent_; });
}

Statistics SlicedModel::statistics() {
  wait();
  Statistics sum = slices_[0].model->statistics();
  for (size_t i = 1; i < slices_.size(); ++i) sum += slices_[i].model->statistics();
  return sum;
}

bool SlicedModel::check_invariants(std::string* why) {
  wait();
  for (const OneSlice& slice : slices_)
    if (!slice.model->check_invariants(why)) return false;
  return true;
}

}  // namespace simrun::sim
