#include "sim/parallel/sliced_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/make_threads.h"
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
  CHECK(stretch_words >= 2);
  const uint32_t slices = std::bit_ceil(threads);
  for (uint32_t i = 0; i < slices; ++i) {
    auto model = std::make_unique<Hierarchy>(config, Slice{slices, i});
    auto replay = std::make_unique<GroupReplay>(*model, i, slices);
    slices_.push_back({std::move(model), std::move(replay)});
  }
  for (uint32_t i = 0; i < threads; ++i) listers_.push_back(std::make_unique<ReferenceLister>(std::span(&config, 1)));
  // One that is written, for each thread one to list, and as many that wait for a slice.
  stretches_.resize(1 + 2 * threads);
  for (Stretch& s : stretches_) s.batches.resize(kMostBatches);
  discarded_.resize(threads);
  begin_stretch();
  try {
    make_threads("the machine; --sim-threads says how many there are to be", [&] {
      for (uint32_t i = 1; i < threads; ++i) threads_.emplace_back([this, i] { run(i); });
    });
  } catch (...) {
    end_threads();
    throw;
  }
}

SlicedModel::~SlicedModel() { end_threads(); }

void SlicedModel::end_threads() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void SlicedModel::begin_stretch() {
  Stretch& s = stretch(sent_);
  if (s.words.size() < stretch_words_) s.words.resize(stretch_words_);
  s.pieces.clear();
  s.begun = 0, s.is_listed = false;
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
  begin_piece(core, Group::kSameThread);
  const size_t size = head.size() + words.size();
  if (static_cast<size_t>(end_ - next_) <= size) {
    send();
    Stretch& s = stretch(sent_);
    if (s.words.size() <= size) {
      s.words.resize(size + 1);
      next_ = s.words.data(), end_ = next_ + s.words.size();
    }
  }
  piece_.maker = &maker;
  next_ = std::copy(words.begin(), words.end(), std::copy(head.begin(), head.end(), next_));
  end_piece();
}

void SlicedModel::send() {
  end_piece();
  if (stretch(sent_).pieces.empty()) return;
  std::unique_lock lock(mutex_);
  ++sent_;
  notify();
  help_until(lock, [&] { return sent_ - all_done() < stretches_.size(); });
  begin_stretch();
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

class SlicedModel::Listing final : public BatchTaker {
 public:
  Listing(SlicedModel& model, uint64_t number, uint32_t thread) : model_(model), number_(number), thread_(thread) {}
  Batch& next() override { return model_.next_batch(number_, thread_); }

 private:
  SlicedModel& model_;
  const uint64_t number_;
  const uint32_t thread_;
};

// For the lister of a stretch. Slices that are behind are helped; those of the oldest stretch always have something to do,
// so this ends.
Batch& SlicedModel::next_batch(uint64_t number, uint32_t thread) {
  Stretch& s = stretch(number);
  std::unique_lock lock(mutex_);
  notify();  // of the one before
  if (!has_room(number)) {
    while (!has_room(number) && failure_ == nullptr && !ends_)
      if (replay_one(lock, thread))
        notify();
      else
        wait_for_change(lock);
  }
  Batch* batch = &discarded_[thread];
  if (failure_ == nullptr && !ends_) {
    batch = &s.batches[s.begun++ % kMostBatches];
  }
  batch->groups.clear();
  return *batch;
}

// For one more batch: all slices are done with the one whose place it takes.
bool SlicedModel::has_room(uint64_t number) {
  const uint64_t begun = stretch(number).begun;
  return begun < kMostBatches || std::all_of(slices_.begin(), slices_.end(), [&](const OneSlice& slice) {
           return slice.done == number && slice.batch + kMostBatches > begun;
         });
}

void SlicedModel::list(uint64_t number, uint32_t thread) {
  Stretch& s = stretch(number);
  ReferenceLister& lister = *listers_[thread];
  Listing listing(*this, number, thread);
  lister.begin(listing);
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

void SlicedModel::wait_for_change(std::unique_lock<std::mutex>& lock) {
  ++waiting_;
  changed_.wait(lock);
  --waiting_;
}

template <class IsDone>
void SlicedModel::help_until(std::unique_lock<std::mutex>& lock, IsDone is_done) {
  while (!is_done())
    if (!work(lock, 0)) wait_for_change(lock);
}

uint64_t SlicedModel::all_done() const {
  return std::min_element(slices_.begin(), slices_.end(), [](auto& a, auto& b) { return a.done < b.done; })->done;
}

void SlicedModel::run(uint32_t thread) {
  std::unique_lock lock(mutex_);
  while (!ends_)
    if (!work(lock, thread)) wait_for_change(lock);
}

// One step of what there is; false: there is nothing. The oldest first, which makes room.
bool SlicedModel::work(std::unique_lock<std::mutex>& lock, uint32_t thread) {
  if (!replay_one(lock, thread) && !list_one(lock, thread)) return false;
  notify();
  return true;
}

// Without the lock; nothing that goes wrong leaves it.
template <class Do>
void SlicedModel::apart(std::unique_lock<std::mutex>& lock, Do work) {
  std::exception_ptr failure;
  lock.unlock();
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  if (failure_ == nullptr) failure_ = failure;
}

// What a slice can do of its next stretch. Threads begin with different slices, so that each mostly stays with its own.
bool SlicedModel::replay_one(std::unique_lock<std::mutex>& lock, uint32_t thread) {
  for (uint32_t i = 0; i < slices(); ++i) {
    OneSlice& slice = slices_[(thread + i) % slices()];
    if (slice.busy || slice.done == sent_) continue;
    Stretch& s = stretch(slice.done);
    const uint64_t end = s.complete();
    if (slice.batch == end && !s.is_listed) continue;
    slice.busy = true;
    if (failure_ == nullptr)
      apart(lock, [&, begin = slice.batch] {
        for (uint64_t k = begin; k != end; ++k) slice.replay->run(s.batches[k % kMostBatches]);
      });
    slice.busy = false;
    slice.batch = end;
    if (s.is_listed && s.begun == end) ++slice.done, slice.batch = 0;
    return true;
  }
  return false;
}

bool SlicedModel::list_one(std::unique_lock<std::mutex>& lock, uint32_t thread) {
  if (taken_ == sent_) return false;
  const uint64_t number = taken_++;
  if (failure_ == nullptr) apart(lock, [&] { list(number, thread); });
  stretch(number).is_listed = true;
  ++listed_;
  return true;
}

ReferenceLister& SlicedModel::list_from_here() {
  if (own_listing_ == nullptr) settle(), begin_own_listing();
  return *listers_[0];
}

// A stretch that is sent before anything is in it, so that slices take its batches while it grows.
void SlicedModel::begin_own_listing() {
  std::unique_lock lock(mutex_);
  help_until(lock, [&] { return sent_ - all_done() < stretches_.size(); });
  begin_stretch();
  const uint64_t number = sent_++;
  CHECK(taken_ == number);
  ++taken_;
  lock.unlock();
  own_listing_ = std::make_unique<Listing>(*this, number, 0);
  listers_[0]->begin(*own_listing_);
}

void SlicedModel::end_own_listing() {
  listers_[0]->end();
  own_listing_.reset();
  const std::lock_guard lock(mutex_);
  stretch(sent_ - 1).is_listed = true;
  ++listed_;
  notify();
}

void SlicedModel::settle() {
  if (own_listing_ != nullptr) return;
  const auto all_listed = [&] { return listed_ == sent_; };
  try {
    send();
  } catch (...) {  // it is kept
  }
  std::unique_lock lock(mutex_);
  help_until(lock, all_listed);
}

void SlicedModel::wait() {
  const bool lists = own_listing_ != nullptr;
  if (lists)
    end_own_listing();
  else
    send();
  std::unique_lock lock(mutex_);
  help_until(lock, [&] { return all_done() == sent_; });
  lock.unlock();
  if (lists) begin_own_listing();
  if (failure_ != nullptr) std::rethrow_exception(failure_);
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
