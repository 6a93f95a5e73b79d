// The code of a run's processes, while they run: the files that are mapped, and what the ids of paths mean, in the terms of traces.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/trace_descriptors.h"
#include "cli/trace_modules.h"
#include "instr/border/stream.h"
#include "instr/channel/mapped_process.h"
#include "instr/channel/virtual_time.h"
#include "instr/host/family.h"
#include "traces/descriptor_table.h"

namespace simrun::cli {

class LiveCode {
 public:
  // The program must have been started with watch_mappings; `family` must outlive this.
  explicit LiveCode(host::Family& family) : family_(family) {}

  // Called for each new module, once the process is complete.
  void set_on_module(std::function<void(const traces::Module&)> on_module) { on_module_ = std::move(on_module); }

  struct Process {
    std::optional<channel::MappedProcess> mapped;  // none: it has ended, maybe before it did anything
    std::unique_ptr<traces::DescriptorTable> own;  // that ids are of; null: they are of the table given to describe()
    TraceModules modules;                          // these two also when it has ended: for children that come later
    std::string command;

   private:
    friend class LiveCode;
    std::optional<DescriptorCopier> descriptors;  // into the table
    traces::DescriptorTable* table = nullptr;
    uint64_t times_forgotten = 0;
    bool awaits_new_paths = false;  // those in its tables are the old ones still, which nothing to come is of
  };
  // Processes are met in their order; one that ended before it had a thread is met too.
  uint32_t processes() const { return static_cast<uint32_t>(processes_.size()); }
  Process& operator[](uint32_t process) { return *processes_[process]; }
  const Process& operator[](uint32_t process) const { return *processes_[process]; }

  // The next one. Then its descriptions go into a table: one of its own, or `table`, which must outlive it.
  Process& meet();
  void describe(uint32_t process, traces::DescriptorTable* table = nullptr);
  void tell_modules(uint32_t process) {
    for (const traces::Module& module : processes_[process]->modules.all()) tell(module);
  }

  // As the sink's. Ids are of a table of its own from forget_paths() on.
  void forget_process(uint32_t process);
  void forget_paths(uint32_t process);
  // Every event, before it has any effect: mappings are looked at while the thread that changed them waits.
  void look_at(const channel::MergeThread& thread, std::span<const uint64_t> event);
  // Instructions that an event retires.
  static uint64_t instructions_of(std::span<const uint64_t> event) {
    return static_cast<uint32_t>(event[0]) == static_cast<uint32_t>(border::Event::kCut) && event.size() > 2 ? event[2] : 0;
  }
  // Descriptions up to date with the words of this thread.
  const traces::DescriptorTable& of(const channel::MergeThread& thread) {
    Process& process = *processes_[thread.process];
    if (!process.awaits_new_paths || has_new_paths(process)) process.descriptors->update();
    return *process.table;
  }

 private:
  static bool has_new_paths(Process& process);
  void tell(const traces::Module& module) {
    if (on_module_) on_module_(module);
  }

  host::Family& family_;
  std::function<void(const traces::Module&)> on_module_;
  std::vector<std::unique_ptr<Process>> processes_;  // by index; all up to the last that had a thread
};

}  // namespace simrun::cli
