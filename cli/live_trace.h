// What a trace needs to know of a program while it runs: its processes with their code and modules, its threads and the cores
// that they are on. A part of sinks that write a trace.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/live_code.h"
#include "cli/trace_descriptors.h"
#include "instr/channel/merge.h"
#include "instr/host/family.h"
#include "traces/writer.h"

namespace simrun::cli {

class LiveTrace {
 public:
  // Which descriptions of code the file gets: those of all code that was translated, or of what is executed in it,
  // found path by path.
  enum class Code { kAll, kUsed };  // kAll: until a process's paths are forgotten the first time

  // The program must have been started with watch_mappings; the writer must be new. Both must outlive this.
  LiveTrace(host::Family& family, traces::Writer& writer, Code code);

  // Called for each new module.
  void set_on_module(std::function<void(const traces::Module&)> on_module) { on_module_ = std::move(on_module); }

  // As the sink's.
  // `written`: what it does from here on is in the file.
  void start_thread(const channel::ThreadReport& report, bool written = true);
  void forget_process(uint32_t process, bool written = true);
  void forget_paths(uint32_t process);
  // `written`: the thread has items in the file, and goes on there.
  void run_on(const channel::ThreadReport& report, bool written = true);

  // Every event, written or not, before it has any effect: mappings are looked at while the thread that changed them waits.
  void look_at(const channel::MergeThread& thread, std::span<const uint64_t> event) { code_.look_at(thread, event); }
  // Descriptions up to date with the words of this thread.
  const traces::DescriptorTable& code_of(const channel::MergeThread& thread) { return code_.of(thread); }

  // What is written. An event also has to be looked at, before.
  void add_paths(const channel::MergeThread& thread, std::span<const uint64_t> words, uint64_t paths, uint64_t instructions) {
    code_of(thread);
    writer_.add_paths(thread.report.index, in_file(thread, words), paths, instructions);
  }
  void add_event(const channel::MergeThread& thread, std::span<const uint64_t> event) {
    code_of(thread);
    writer_.add_event(thread.report.index, in_file(thread, event), LiveCode::instructions_of(event));
  }
  // An event that lies outside what is recorded.
  void pass_over(const channel::MergeThread& thread, std::span<const uint64_t> event) {
    writer_.note_event(thread.report.index, event);
  }
  // Before the first item of a thread when recording starts amid the run.
  void say_core(const channel::MergeThread& thread);

 private:
  static constexpr uint32_t kNobody = ~uint32_t{0};
  struct Process {
    DescriptorSelection used;        // where ids in the file are others
    std::optional<uint32_t> thread;  // its first one
  };
  std::span<const uint64_t> in_file(const channel::MergeThread& thread, std::span<const uint64_t> words) {
    return code_[thread.process].own == nullptr ? words : renumbered(thread, words);
  }
  std::span<const uint64_t> renumbered(const channel::MergeThread& thread, std::span<const uint64_t> words);
  void make_process(uint32_t index);
  std::vector<traces::MappedFile> first_files(uint32_t index) const;
  void put_core(uint32_t thread, bool is_new_there);
  void put_event(uint32_t thread, traces::Event event, std::optional<uint64_t> payload, bool written);

  host::Family& family_;
  traces::Writer& writer_;
  const Code described_;
  LiveCode code_;
  std::vector<uint64_t> words_;
  std::function<void(const traces::Module&)> on_module_;
  std::vector<Process> processes_;      // by index, as in code_
  std::vector<uint32_t> core_of_;       // by index of the thread
  std::vector<uint32_t> last_on_core_;  // thread
};

}  // namespace simrun::cli
