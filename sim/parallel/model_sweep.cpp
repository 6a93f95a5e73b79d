#include "sim/parallel/model_sweep.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/user_error.h"

namespace simrun::sim {

ModelSweep::ModelSweep(const std::vector<MachineConfig>& machines, uint32_t threads)
    : filling_(std::make_shared<Batch>()) {
  CHECK(!machines.empty() && threads > 0);
  for (const MachineConfig& machine : machines) {
    if (machine.cores != machines[0].cores || machine.line_bytes != machines[0].line_bytes)
      throw UserError("machines of one sweep need the same number of cores and the same line size", 2);
    machines_.push_back(std::make_unique<Hierarchy>(machine));
    wants_pc_ |= machines_.back()->wants_pc();
  }
  line_shift_ = static_cast<uint32_t>(std::countr_zero(line_bytes()));
  filling_->reserve(kBatch);
  for (size_t lane = 0; lane < std::min<size_t>(threads, machines.size()); ++lane)
    lanes_.push_back(std::make_unique<Lane<Reference>>([this, lane](const Batch& batch) { work(batch, lane); }));
}

void ModelSweep::work(const Batch& batch, size_t lane) {
  for (size_t i = lane; i < machines_.size(); i += lanes_.size()) {
    Hierarchy& machine = *machines_[i];
    const bool wants_pc = machine.wants_pc();
    for (const Reference& r : batch) {
      if (r.what == What::kThread) [[unlikely]] {
        machine.run_thread(r.core, static_cast<uint32_t>(r.address));
        continue;
      }
      if (wants_pc) machine.set_pc(r.pc);
      if (r.what == What::kReference) [[likely]]
        machine.access(r.core, r.kind, r.address, r.bytes);
      else
        machine.access_further_line(r.core, r.kind, r.address);
    }
  }
}

void ModelSweep::send() {
  const std::shared_ptr<const Batch> batch = std::move(filling_);
  for (const auto& lane : lanes_) lane->put(batch);
  filling_ = std::make_shared<Batch>();
  filling_->reserve(kBatch);
}

void ModelSweep::wait() {
  if (!filling_->empty()) send();
  for (const auto& lane : lanes_) lane->wait();
}

std::vector<Statistics> ModelSweep::statistics() {
  wait();
  std::vector<Statistics> all;
  for (const auto& machine : machines_) all.push_back(machine->statistics());
  return all;
}

bool ModelSweep::check_invariants(std::string* why) {
  wait();
  return std::all_of(machines_.begin(), machines_.end(), [&](const auto& m) { return m->check_invariants(why); });
}

}  // namespace simrun::sim
