#include "sim/parallel/model_sweep.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/make_threads.h"
#include "base/user_error.h"

namespace simrun::sim {

ModelSweep::ModelSweep(const std::vector<MachineConfig>& machines, uint32_t threads, size_t batch_words) {
  CHECK(!machines.empty() && threads > 0);
  for (const MachineConfig& machine : machines) {
    if (machine.cores != machines[0].cores || machine.line_bytes != machines[0].line_bytes)
      throw UserError("machines of one sweep need the same number of cores and the same line size", 2);
    machines_.push_back(std::make_unique<Hierarchy>(machine));
  }
  const size_t lanes = std::min<size_t>(threads, machines.size());
  for (size_t lane = 0; lane < lanes; ++lane) of_lanes_.push_back(makings_of(lane, lanes, machines));
  unused_.reserve(kMostUnused);
  filling_ = new_batch();
  batch_words_ = std::min(batch_words * ((machines.size() + lanes - 1) / lanes), kMostBatchWords);
  make_threads("the machines of a sweep; --sim-threads says how many there are to be", [&] {
    for (size_t lane = 0; lane < lanes; ++lane)
      lanes_.push_back(std::make_unique<Lane<Batch>>([&makings = of_lanes_[lane]](const Batch& batch) { work(batch, makings); }));
  });
}

// Every so many machines are a lane's.
std::vector<ModelSweep::Making> ModelSweep::makings_of(size_t lane, size_t lanes, const std::vector<MachineConfig>& configs) {
  std::vector<Making> makings;
  std::vector<bool> is_placed(configs.size());
  for (size_t i = lane; i < configs.size(); i += lanes) {
    if (is_placed[i]) continue;
    std::vector<Hierarchy*> alike;
    std::vector<MachineConfig> alike_configs;
    for (size_t k = i; k < configs.size(); k += lanes)
      if (FilteredMachines::are_alike(configs[i], configs[k])) {
        is_placed[k] = true;
        alike.push_back(machines_[k].get());
        alike_configs.push_back(configs[k]);
      }
    if (alike.size() >= kLeastFiltered)
      makings.push_back({makings_++, nullptr, std::make_unique<FilteredMachines>(alike, alike_configs)});
    else if (alike.empty())
      makings.push_back({makings_++, machines_[i].get(), nullptr});
    else
      for (Hierarchy* machine : alike) makings.push_back({makings_++, machine, nullptr});
  }
  return makings;
}

void ModelSweep::work(const Batch& batch, std::span<const Making> makings) {
  for (const Making& making : makings) {
    if (making.filtered) making.filtered->begin();
    size_t at = 0;
    for (const Piece& piece : batch.pieces) {
      const std::span<const uint64_t> words{batch.words.data() + at, piece.end - at};
      if (making.filtered)
        piece.maker->make(making.number, making.filtered->lister(), words);
      else
        piece.maker->make(making.number, *making.alone, words);
      at = piece.end;
    }
    if (making.filtered) making.filtered->end();
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
