// Many machines over one stream of references, by several host threads: each machine is simulated by one thread at a
// time, in order, so each counts what it would alone. The machines agree in cores and line size.
#pragma once

#include <memory>
#include <vector>

#include "sim/hierarchy.h"
#include "sim/parallel/lane.h"

namespace simrun::sim {

class ModelSweep {
 public:
  // Throws UserError if a machine is impossible or differs from the first in cores or line size.
  ModelSweep(const std::vector<MachineConfig>& machines, uint32_t threads);

  uint32_t cores() const { return machines_[0]->cores(); }
  uint32_t line_bytes() const { return machines_[0]->line_bytes(); }
  size_t size() const { return machines_.size(); }
  bool wants_pc() const { return wants_pc_; }
  void set_pc(uint64_t pc) { pc_ = pc; }

  void access_line(uint32_t core, Access kind, uint64_t line) { access(core, kind, line << line_shift_, 1); }
  void access_further_line(uint32_t core, Access kind, uint64_t line) {
    put({line, pc_, 0, static_cast<uint16_t>(core), kind, What::kFurtherLine});
  }
  void access(uint32_t core, Access kind, uint64_t address, uint32_t bytes) {
    put({address, pc_, bytes, static_cast<uint16_t>(core), kind, What::kReference});
  }
  void run_thread(uint32_t core, uint32_t thread) {
    put({thread, 0, 0, static_cast<uint16_t>(core), Access::kLoad, What::kThread});
  }
  // By machine, of everything so far: waits for the threads.
  std::vector<Statistics> statistics();
  bool check_invariants(std::string* why);

 private:
  // kFurtherLine: Hierarchy::access_further_line, the line in `address`; kThread: run_thread, the thread in `address`
  enum class What : uint8_t { kReference, kFurtherLine, kThread };
  struct Reference {
    uint64_t address, pc;
    uint32_t bytes;
    uint16_t core;
    Access kind;
    What what;
  };
  using Batch = std::vector<Reference>;
  static constexpr size_t kBatch = 8192;

  void put(const Reference& reference) {
    filling_->push_back(reference);
    if (filling_->size() == kBatch) [[unlikely]]
      send();
  }
  void send();
  void wait();
  void work(const Batch& batch, size_t lane);

  std::vector<std::unique_ptr<Hierarchy>> machines_;
  uint32_t line_shift_ = 0;
  bool wants_pc_ = false;
  uint64_t pc_ = 0;
  std::shared_ptr<Batch> filling_;
  std::vector<std::unique_ptr<Lane<Reference>>> lanes_;
};

}  // namespace simrun::sim
