// As ModelSink, with who made each reference, for a model that keeps details.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cli/model_sink.h"

namespace simrun::cli {

// The handle of a thread is its index.
class DetailedModelSink final {
 public:
  static constexpr bool kWantsReferences = true;
  static constexpr bool kWantsPc = true;

  // `family`: as NamedMemory has it.
  explicit DetailedModelSink(sim::Hierarchy& model, const host::Family* family = nullptr)
      : model_(model), memory_(family) {
    model_.keep_details();
  }
  // As BasicModelSink.
  DetailedModelSink(sim::Hierarchy& model, channel::MemoryNames& names) : model_(model), memory_(names) {
    model_.keep_details();
  }
  void look_at_names() {}

  uint32_t start_thread(const channel::ThreadReport& thread) {
    memory_.start_thread(thread);
    if (process_.size() <= thread.index) process_.resize(thread.index + 1), core_.resize(thread.index + 1);
    process_[thread.index] = thread.process;
    core_[thread.index] = core_of_thread(thread.core, model_.cores());
    return thread.index;
  }
  uint32_t run_on(const channel::ThreadReport& thread) {
    start_thread(thread);
    model_.run_thread(core_[thread.index], thread.index);
    return thread.index;
  }
  // Where it ran last.
  uint32_t core_of(uint32_t thread) const { return core_[thread]; }
  void event(uint32_t thread, border::Event event, std::span<const uint64_t> payload) {
    memory_.event(process_[thread], event, payload);
  }
  void forget_process(uint32_t process) {
    memory_.forget_process(process);
    model_.forget_process(process);
  }
  void forget_paths(uint32_t) {}
  // During an access: who makes it, and the address that its process has for a name.
  uint32_t process_now() const { return process_now_; }
  uint64_t address_of(uint64_t name) const { return name - distance_; }
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
    const auto access = [&](uint64_t name, uint32_t size, uint64_t distance, bool goes_on) {
      distance_ = distance;
      if (goes_on) model_.continue_reference(core_[thread], kind);
      model_.access_detailed(core_[thread], kind, name, size, {thread, process_now_, pc});
    };
    process_now_ = process_[thread];
    const uint64_t plain = uint64_t{process_now_} << kProcessShift;
    if (channel::MemoryNames* const names = memory_.names(); names != nullptr)
      for_each_piece(*names, process_now_, address, bytes, sim::is_write(kind), access);
    else
      access(address + plain, bytes, plain, false);
  }

  sim::Hierarchy& model_;
  NamedMemory memory_;
  uint64_t distance_ = 0;
  uint32_t process_now_ = 0;
  std::vector<uint32_t> process_;  // of each thread
  std::vector<uint32_t> core_;
};

}  // namespace simrun::cli
