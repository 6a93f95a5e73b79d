// References into the cache model. Here the engine's side and the model meet: neither knows the other.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "cli/run_result.h"
#include "instr/channel/reference.h"
#include "instr/channel/thread_statistics.h"
#include "sim/hierarchy.h"

namespace simrun::cli {

// The first six kinds are the same in both; non-temporal accesses are simulated as ordinary ones.
inline sim::Access access_of(channel::ReferenceKind kind) {
  using channel::ReferenceKind;
  constexpr std::array kAccess = {
      sim::Access::kFetch,    sim::Access::kLoad,  sim::Access::kStore, sim::Access::kReadModifyWrite,
      sim::Access::kPrefetch, sim::Access::kFlush, sim::Access::kLoad,  sim::Access::kStore};
  static_assert(kAccess[static_cast<size_t>(ReferenceKind::kFlush)] == sim::Access::kFlush);
  static_assert(kAccess[static_cast<size_t>(ReferenceKind::kNonTemporalStore)] == sim::Access::kStore);
  return kAccess[static_cast<size_t>(kind)];
}

// Processes have memories of their own: the model sees byte addresses with the number of the process in the top 16 bits
// (user addresses have 47). The first process keeps its addresses.
constexpr uint32_t kProcessShift = 48;

// The address as the process has it.
constexpr uint64_t untagged(uint64_t address) { return address & ((uint64_t{1} << kProcessShift) - 1); }

// A thread's handle: its core, and its process above.
class ModelSink final {
 public:
  static constexpr bool kWantsReferences = true;

  explicit ModelSink(sim::Hierarchy& model)
      : model_(model), line_shift_(static_cast<uint32_t>(std::countr_zero(model.line_bytes()))) {}

  uint32_t start_thread(const channel::ThreadReport& thread) {
    return core_of_thread(thread.index, model_.cores()) | thread.process << kCoreBits;
  }
  void fetch(uint32_t handle, uint64_t line) {
    model_.access_line(core(handle), sim::Access::kFetch, line ^ process(handle) << (kProcessShift - line_shift_));
  }
  void data(uint32_t handle, channel::ReferenceKind kind, uint64_t address, uint32_t bytes) {
    model_.access(core(handle), access_of(kind), address ^ process(handle) << kProcessShift, bytes);
  }

 private:
  static constexpr uint32_t kCoreBits = 16;
  static uint32_t core(uint32_t handle) { return handle & ((1u << kCoreBits) - 1); }
  static uint64_t process(uint32_t handle) { return handle >> kCoreBits; }

  sim::Hierarchy& model_;
  uint32_t line_shift_;
};

// The same for machines whose prefetchers go by instruction.
class PcModelSink final {
 public:
  static constexpr bool kWantsReferences = true;
  static constexpr bool kWantsPc = true;

  explicit PcModelSink(sim::Hierarchy& model) : model_(model) {}

  uint32_t start_thread(const channel::ThreadReport& thread) { return core_of_thread(thread.index, model_.cores()); }
  void fetch(uint32_t core, uint64_t line, uint64_t pc) {
    model_.set_pc(pc);
    model_.access_line(core, sim::Access::kFetch, line);
  }
  void data(uint32_t core, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, uint64_t pc) {
    model_.set_pc(pc);
    model_.access(core, access_of(kind), address, bytes);
  }

 private:
  sim::Hierarchy& model_;
};

// The same with who made each reference, for a model that keeps details. The handle of a thread is its index.
class DetailedModelSink final {
 public:
  static constexpr bool kWantsReferences = true;
  static constexpr bool kWantsPc = true;

  explicit DetailedModelSink(sim::Hierarchy& model) : model_(model) { model_.keep_details(); }

  uint32_t start_thread(const channel::ThreadReport& thread) {
    if (process_.size() <= thread.index) process_.resize(thread.index + 1);
    process_[thread.index] = thread.process;
    return thread.index;
  }
  void fetch(uint32_t thread, uint64_t line, uint64_t pc) {
    // The bytes of the fetch that are on the line: from the instruction on.
    const uint64_t begin = line * model_.line_bytes();
    const uint64_t from = pc > begin ? pc : begin;
    put(thread, sim::Access::kFetch, from, static_cast<uint32_t>(begin + model_.line_bytes() - from), pc);
  }
  void data(uint32_t thread, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, uint64_t pc) {
    put(thread, access_of(kind), address, bytes, pc);
  }

 private:
  void put(uint32_t thread, sim::Access kind, uint64_t address, uint32_t bytes, uint64_t pc) {
    model_.access_detailed(core_of_thread(thread, model_.cores()), kind, address ^ process_[thread] << kProcessShift,
                           bytes, {thread, 0, pc});
  }

  sim::Hierarchy& model_;
  std::vector<uint64_t> process_;  // of each thread
};

}  // namespace simrun::cli
