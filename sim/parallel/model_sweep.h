// Many machines over one stream of references, by several host threads: each machine is simulated by one thread at a
// time, in order, so each counts what it would alone. The machines agree in cores and line size. Who has the references
// writes them down, or words that each machine's are made of by its own thread.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "sim/hierarchy.h"
#include "sim/parallel/lane.h"

namespace simrun::sim {

class ModelSweep {
 public:
  // Makes the references of words, for several machines at the same time.
  class Maker {
   public:
    virtual ~Maker() = default;
    // `machine`: 0 to size() - 1; `to`: always the same for the same machine.
    virtual void make(size_t machine, Hierarchy& to, std::span<const uint64_t> words) = 0;
  };

  // Words that a machine is given before the next of the same thread gets them, for each machine that the thread has: each begins with
  // its state out of the host's caches.
  static constexpr size_t kBatchWords = 65536;

  // Throws UserError if a machine is impossible or differs from the first in cores or line size.
  ModelSweep(const std::vector<MachineConfig>& machines, uint32_t threads, size_t batch_words = kBatchWords);

  uint32_t cores() const { return machines_[0]->cores(); }
  uint32_t line_bytes() const { return machines_[0]->line_bytes(); }
  size_t size() const { return machines_.size(); }
  bool wants_pc() const { return wants_pc_; }
  void set_pc(uint64_t pc) { pc_ = pc; }

  // As Hierarchy has them.
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
  // `maker` will make the next references, of `head` and `words`, one behind the other, perhaps with others that it is to make behind
  // these; it and what they mean must stay until settle().
  void make_later(Maker& maker, std::span<const uint64_t> head, std::span<const uint64_t> words);

  // All references are made, and simulated. Throws nothing.
  void settle();
  // By machine, of everything so far: waits for the threads. Like all that gives references, throws what went wrong in them.
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
  struct Piece {
    Maker* maker;  // null: references
    size_t end;    // of them, or of words
  };
  struct Batch {
    std::vector<Reference> references;
    std::vector<uint64_t> words;
    std::vector<Piece> pieces;
  };
  static constexpr size_t kBatchReferences = 8192, kMostBatchWords = size_t{1} << 20, kMostUnused = 64;

  void put(const Reference& reference) {
    filling_->references.push_back(reference);
    if (filling_->references.size() == kBatchReferences) [[unlikely]]
      send();
  }
  std::shared_ptr<Batch> new_batch();
  void end_references();
  void send();
  void finish();
  void work(const Batch& batch, size_t lane) const;
  static void take(Hierarchy& machine, std::span<const Reference> references);

  std::vector<std::unique_ptr<Hierarchy>> machines_;
  uint32_t line_shift_ = 0;
  size_t batch_words_ = 0;
  bool wants_pc_ = false;
  uint64_t pc_ = 0;
  std::mutex mutex_;                            // guards `unused_`
  std::vector<std::unique_ptr<Batch>> unused_;  // batches that all lanes are done with
  std::shared_ptr<Batch> filling_;
  size_t pieced_ = 0;  // references of `filling_` that are in a piece
  std::vector<std::unique_ptr<Lane<Batch>>> lanes_;
};

}  // namespace simrun::sim
