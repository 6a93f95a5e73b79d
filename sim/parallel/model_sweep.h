// Many machines over one stream, by several host threads: each machine is simulated by one thread at a time, in order, so
// each counts what it would alone. Who has the stream gives words of it. A thread makes their references for each of its machines,
// or once for several that have level 1 alike, which then need not see what surely hits there (filtered_machines.h).
// The machines agree in cores and line size.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "sim/hierarchy.h"
#include "sim/parallel/filtered_machines.h"
#include "sim/parallel/lane.h"

namespace simrun::sim {

class ModelSweep {
 public:
  // Makes the references of words, for several of whom they are for at the same time.
  class Maker {
   public:
    virtual ~Maker() = default;
    // `number`: 0 to makings() - 1; `to`: always the same for the same number.
    virtual void make(size_t number, Hierarchy& to, std::span<const uint64_t> words) = 0;
    virtual void make(size_t number, ReferenceLister& to, std::span<const uint64_t> words) = 0;
  };

  // Words that a machine is given before the next of the same thread gets them, for each machine that the thread has: each begins with
  // its state out of the host's caches.
  static constexpr size_t kBatchWords = 65536;

  // Throws UserError if a machine is impossible or differs from the first in cores or line size.
  ModelSweep(const std::vector<MachineConfig>& machines, uint32_t threads, size_t batch_words = kBatchWords);

  uint32_t cores() const { return machines_[0]->cores(); }
  uint32_t line_bytes() const { return machines_[0]->line_bytes(); }
  size_t size() const { return machines_.size(); }
  // How many times references are made: as many as machines, or fewer.
  size_t makings() const { return makings_; }

  // `maker` will make the next references, of `head` and `words`, one behind the other, perhaps with others that it is to make behind
  // these; it and what they mean must stay until settle().
  void make_later(Maker& maker, std::span<const uint64_t> head, std::span<const uint64_t> words);

  // All references are made, and simulated. Throws nothing.
  void settle();
  // By machine, of everything so far: waits for the threads. Like make_later(), throws what went wrong in them.
  std::vector<Statistics> statistics();
  bool check_invariants(std::string* why);

 private:
  struct Piece {
    Maker* maker;
    size_t end;  // of the batch's words
  };
  struct Batch {
    std::vector<uint64_t> words;
    std::vector<Piece> pieces;
  };
  static constexpr size_t kLeastFiltered = 3;  // machines that are alike
  static constexpr size_t kMostBatchWords = size_t{1} << 20, kMostUnused = 64;

  // What is made once: for one machine, or for several.
  struct Making {
    size_t number;
    Hierarchy* alone;  // null: filtered
    std::unique_ptr<FilteredMachines> filtered;
  };

  std::vector<Making> makings_of(size_t lane, size_t lanes, const std::vector<MachineConfig>& configs);
  std::shared_ptr<Batch> new_batch();
  void send();
  void finish();
  static void work(const Batch& batch, std::span<const Making> makings);

  std::vector<std::unique_ptr<Hierarchy>> machines_;
  std::vector<std::vector<Making>> of_lanes_;
  size_t makings_ = 0;
  size_t batch_words_ = 0;
  std::mutex mutex_;                            // guards `unused_`
  std::vector<std::unique_ptr<Batch>> unused_;  // batches that all lanes are done with
  std::shared_ptr<Batch> filling_;
  std::exception_ptr failure_;  // settle()'s: words were lost
  std::vector<std::unique_ptr<Lane<Batch>>> lanes_;
};

}  // namespace simrun::sim
