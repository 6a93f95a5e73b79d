#include "sim/parallel/model_sweep.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/user_error.h"

namespace simrun::sim {

ModelSweep::ModelSweep(const std::vector<MachineConfig>& machines, uint32_t threads, size_t batch_words) {
  CHECK(!machines.empty() && threads > 0);
  for (const MachineConfig& machine : machines) {
    if (machine.cores != machines[0].cores || machine.line_bytes != machines[0].line_bytes)
      throw UserError("machines of one sweep need the same number of cores and the same line size", 2);
    machines_.push_back(std::make_unique<Hierarchy>(machine));
  }
  unused_.reserve(kMostUnused);
  filling_ = new_batch();
  const size_t lanes = std::min<size_t>(threads, machines.size());
  batch_words_ = std::min(batch_words * ((machines.size() + lanes - 1) / lanes), kMostBatchWords);
  try {
    for (size_t lane = 0; lane < lanes; ++lane)
      lanes_.push_back(std::make_unique<Lane<Batch>>([this, lane](const Batch& batch) { work(batch, lane); }));
  } catch (const std::system_error& error) {
    throw UserError(std::string("no more threads for the machines of a sweep; --sim-threads says how many there are to be: ") + error.what());
  }
}

void ModelSweep::work(const Batch& batch, size_t lane) const {
  for (size_t i = lane; i < machines_.size(); i += lanes_.size()) {
    size_t at = 0;
    for (const Piece& piece : batch.pieces) {
      piece.maker->make(i, *machines_[i], {batch.words.data() + at, piece.end - at});
      at = piece.end;
    }
  }
}

void ModelSweep::make_later(Maker& maker, std::span<const uint64_t> head, std::span<const uint64_t> words) {
  std::vector<uint64_t>& to = filling_->words;
  to.insert(to.end(), head.begin(), head.end());
  to.insert(to.end(), words.begin(), words.end());
  std::vector<Piece>& pieces = filling_->pieces;
  if (pieces.empty() || pieces.back().maker != &maker)
    pieces.push_back({&maker, to.size()});
  else
    pieces.back().end = to.size();
  if (to.size() >= batch_words_) send();
}

// Fresh memory for each, which the kernel clears, would be a tenth of the time.
std::shared_ptr<ModelSweep::Batch> ModelSweep::new_batch() {
  std::unique_ptr<Batch> batch;
  {
    const std::lock_guard lock(mutex_);
    if (!unused_.empty()) batch = std::move(unused_.back()), unused_.pop_back();
  }
  if (batch == nullptr) batch = std::make_unique<Batch>();
  batch->words.clear(), batch->pieces.clear();
  return {batch.release(), [this](Batch* done) {
            std::unique_ptr<Batch> own(done);
            const std::lock_guard lock(mutex_);
            if (unused_.size() < unused_.capacity()) unused_.push_back(std::move(own));
          }};
}

void ModelSweep::send() {
  std::shared_ptr<Batch> next = new_batch();
  const std::shared_ptr<const Batch> batch = std::exchange(filling_, std::move(next));
  for (const auto& lane : lanes_) lane->put(batch);
}

void ModelSweep::settle() {
  try {
    if (!filling_->pieces.empty()) send();
  } catch (...) {
    failure_ = std::current_exception();
    filling_->words.clear(), filling_->pieces.clear();
  }
  for (const auto& lane : lanes_) lane->wait();
}

void ModelSweep::finish() {
  settle();
  for (const auto& lane : lanes_) lane->throw_failure();
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

std::vector<Statistics> ModelSweep::statistics() {
  finish();
  std::vector<Statistics> all;
  for (const auto& machine : machines_) all.push_back(machine->statistics());
  return all;
}

bool ModelSweep::check_invariants(std::string* why) {
  finish();
  return std::all_of(machines_.begin(), machines_.end(), [&](const auto& m) { return m->check_invariants(why); });
}

}  // namespace simrun::sim
