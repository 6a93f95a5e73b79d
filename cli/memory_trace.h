// What a machine's caches ask of memory, as a trace for memory simulators: each line that is read and each that is written,
// in the order of the simulation (docs/trace-conversion.md, "What reaches memory").
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/memory_trace_options.h"
#include "cli/model_sink.h"
#include "sim/hierarchy.h"
#include "traces/export/formats.h"

namespace simrun::cli {

// The file of one model.
class MemoryTrace final : public sim::MemoryObserver {
 public:
  // Throws UserError: the file cannot be made, or the format holds one core and the machine has more.
  MemoryTrace(const MemoryTraceOptions& options, const sim::MachineConfig& machine);
  MemoryTrace(const MemoryTrace&) = delete;
  MemoryTrace& operator=(const MemoryTrace&) = delete;

  // What came before warmed the caches: instructions are counted from here.
  void begin() { done_ = number_ = passed_ = 0; }
  // Whose references follow.
  void begin_path(uint64_t instructions) { number_ = done_, done_ += instructions; }
  void begin_reference(uint32_t thread, uint64_t pc) { thread_ = thread, pc_ = pc; }
  // What becomes of a reference that cannot be written: finish() says it.
  void memory_access(sim::MemoryAccess access, uint64_t line) override;

  // The file gets its name. What was written, or went wrong (then there is no file), is said in the result.
  void finish(RunResult& result);

 private:
  const std::string path_;
  const uint32_t line_bytes_;
  const traces::ExportFormat& format_;
  traces::CompressedOutput out_;
  const std::unique_ptr<traces::Exporter> exporter_;
  std::string failure_;
  // Instructions of all threads: up to the end of the path under way, up to its beginning, and those that the exporter knows of.
  uint64_t done_ = 0, number_ = 0, passed_ = 0;
  uint64_t pc_ = 0;
  uint32_t thread_ = 0;
  uint64_t reads_ = 0, prefetches_ = 0, writes_ = 0;
};

// References into the model one by one, so that it is known whose each is. The handle of a thread is its index.
class MemoryTraceSink final {
 public:
  static constexpr bool kWantsReferences = true;
  static constexpr bool kWantsPc = true;

  // `names`: as of BasicModelSink.
  template <class... Names>
  explicit MemoryTraceSink(sim::Hierarchy& model, Names&&... names) : references_(model, names...) {}
  // To be called before the first reference; it must outlive this.
  void write_to(MemoryTrace& trace) { trace_ = &trace; }

  void look_at_names() { references_.look_at_names(); }
  bool has_names() const { return references_.has_names(); }
  uint32_t start_thread(const channel::ThreadReport& thread) { return note(thread, references_.start_thread(thread)); }
  uint32_t run_on(const channel::ThreadReport& thread) { return note(thread, references_.run_on(thread)); }
  void event(uint32_t thread, border::Event event, std::span<const uint64_t> payload) {
    references_.event(handles_[thread], event, payload);
  }
  void forget_process(uint32_t process) { references_.forget_process(process); }
  void forget_paths(uint32_t process) { references_.forget_paths(process); }
  void begin_path(uint32_t, uint64_t instructions) { trace_->begin_path(instructions); }
  void fetch(uint32_t thread, uint64_t line, uint64_t pc) {
    trace_->begin_reference(thread, pc);
    references_.fetch(handles_[thread], line, pc);
  }
  void data(uint32_t thread, channel::ReferenceKind kind, uint64_t address, uint32_t bytes, uint64_t pc) {
    trace_->begin_reference(thread, pc);
    references_.data(handles_[thread], kind, address, bytes, pc);
  }
  void advance(uint64_t instructions) { references_.advance(instructions); }
  uint64_t until_stop() const { return references_.until_stop(); }

 private:
  uint32_t note(const channel::ThreadReport& thread, uint32_t handle) {
    if (handles_.size() <= thread.index) handles_.resize(thread.index + 1);
    handles_[thread.index] = handle;
    return thread.index;
  }

  PcModelSink<sim::Hierarchy> references_;
  MemoryTrace* trace_ = nullptr;
  std::vector<uint32_t> handles_;  // of PcModelSink, by thread
};

}  // namespace simrun::cli
