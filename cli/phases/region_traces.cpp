#include "cli/phases/region_traces.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/user_error.h"
#include "cli/phases/block_profiler.h"
#include "cli/run_result.h"
#include "cli/trace_descriptors.h"
#include "instr/border/stream.h"
#include "instr/channel/stream_error.h"

namespace simrun::cli {

namespace {

constexpr uint32_t kNobody = ~uint32_t{0};

traces::WriterOptions writer_options() {
  traces::WriterOptions options;
  options.workers = 1;  // regions are short, and several may be open
  return options;
}

}  // namespace

// One trace that is being written.
class RegionTraces::File {
 public:
  File(const RegionTrace& trace, const nlohmann::ordered_json& information, uint32_t cores, uint64_t instructions)
      : trace_(trace),
        first_(instructions),
        writer_(trace.file, information, writer_options()),
        last_on_core_(cores, kNobody) {}

  traces::Writer& writer() { return writer_; }

  void add_path(const channel::MergeThread& thread, std::span<const uint64_t> words, uint32_t instructions,
                const channel::MappedProcess& process) {
    meet(thread);
    writer_.add_paths(thread.report.index, in_file(thread, words, process), 1, instructions);
  }

  void add_event(const channel::MergeThread& thread, std::span<const uint64_t> words,
                 const channel::MappedProcess& process) {
    meet(thread);
    const std::span<const uint64_t> event = in_file(thread, words, process);
    const bool is_cut = static_cast<border::Event>(static_cast<uint32_t>(words[0])) == border::Event::kCut;
    writer_.add_event(thread.report.index, event, is_cut ? words[2] : 0);
  }

  void run_on(const channel::ThreadReport& thread) {
    const uint32_t core = core_in_file(thread);
    const bool is_new_there = last_on_core_[core] != thread.index;
    last_on_core_[core] = thread.index;
    if (is_met(thread.index) && (core_of_[thread.index] != core || is_new_there)) put_core(thread.index, core, is_new_there);
  }

  // As long as it was in this run: with several threads the profile's may be another.
  void end_warm_up(uint64_t instructions) { trace_.region["warm_up"] = instructions - first_; }

  void finish(uint64_t instructions) {
    nlohmann::ordered_json region = trace_.region;
    region["first_instruction"] = first_;
    region["last_instruction"] = instructions;
    region["reached_its_end"] = true;
    writer_.finish({{"threads", nlohmann::ordered_json::array()}, {"region", region}});
    if (const std::string why = writer_.stopped(); !why.empty())
      throw UserError(fmt::format("cannot write {}: {}", trace_.file, why));
  }

 private:
  void meet(const channel::MergeThread& thread) {
    const uint32_t index = thread.report.index, core = core_in_file(thread.report);
    if (is_met(index)) return;
    if (index >= core_of_.size()) core_of_.resize(index + 1, kNobody);
    meet_process(process_of(thread));
    writer_.start_thread(index, process_of(thread), thread.report.tid, thread.replay.bases.fs, thread.replay.bases.gs);
    last_on_core_[core] = index;
    put_core(index, core, true);
  }
  bool is_met(uint32_t thread) const { return thread < core_of_.size() && core_of_[thread] != kNobody; }

  uint32_t core_in_file(const channel::ThreadReport& thread) const {
    return core_of_thread(thread.core, static_cast<uint32_t>(last_on_core_.size()));
  }
  void put_core(uint32_t thread, uint32_t core, bool is_new_there) {
    core_of_[thread] = core;
    const uint64_t words[] = {static_cast<uint64_t>(traces::Event::kCore) | uint64_t{2} << 32, core, is_new_there ? 1u : 0u};
    writer_.add_event(thread, words);
  }

  void meet_process(uint32_t index) {
    while (writer_.processes() <= index) writer_.add_process({});
  }

  // The words with the numbers that paths have in this file.
  std::span<const uint64_t> in_file(const channel::MergeThread& thread, std::span<const uint64_t> words,
                                    const channel::MappedProcess& process) {
    const uint32_t index = process_of(thread);
    if (index >= used_.size()) used_.resize(index + 1);
    words_.assign(words.begin(), words.end());
    used_[index].renumber(words_, process, writer_.process(index));
    return words_;
  }

  RegionTrace trace_;
  uint64_t first_;
  traces::Writer writer_;
  std::vector<uint32_t> core_of_;          // by thread; kNobody: not met yet
  std::vector<uint32_t> last_on_core_;     // the thread
  std::vector<DescriptorSelection> used_;  // by process
  std::vector<uint64_t> words_;
};

void RegionTraces::begin(size_t id, const RegionTrace& trace, uint64_t instructions) {
  const auto file = std::make_shared<File>(trace, information_, cores_, instructions);
  for (const auto& [index, process] : processes_)
    for (const traces::Module& module : process.known) file->writer().add_module(module);
  if (recorded_ != nullptr)
    for (const traces::Module& module : recorded_->modules()) file->writer().add_module(module);
  open_[id] = file;
}

void RegionTraces::end_warm_up(size_t id, uint64_t instructions) {
  if (const auto found = open_.find(id); found != open_.end()) found->second->end_warm_up(instructions);
}

void RegionTraces::end(size_t id, uint64_t instructions) {
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  const std::shared_ptr<File> file = found->second;
  open_.erase(found);
  file->finish(instructions);
}

void RegionTraces::add_path(channel::MergeThread& thread, std::span<const uint64_t> words, uint32_t instructions,
                            const channel::PathTable& paths) {
  for (const auto& [id, file] : open_) file->add_path(thread, words, instructions, paths.process());
}

void RegionTraces::add_event(channel::MergeThread& thread, std::span<const uint64_t> words,
                             const channel::PathTable& paths) {
  // What a trace knows: counts and changes of mode are of this run, not of the program.
  if (static_cast<uint32_t>(words[0]) > static_cast<uint32_t>(border::Event::kMappingChange)) return;
  for (const auto& [id, file] : open_) file->add_event(thread, words, paths.process());
}

void RegionTraces::run_on(const channel::ThreadReport& thread) {
  for (const auto& [id, file] : open_) file->run_on(thread);
}

void RegionTraces::look_at_modules(const channel::MergeThread& thread, const channel::PathTable& paths) {
  if (recorded_ != nullptr) return;
  const uint32_t index = process_of(thread);
  const auto pid = static_cast<pid_t>(thread.report.tid);
  const auto [process, is_new] =
      processes_.try_emplace(index, Process{TraceModules(index, pid, paths.process().header().app_pc), {}});
  for (traces::Module& module : process->second.modules.update()) {
    for (const auto& [id, file] : open_) file->writer().add_module(module);
    process->second.known.push_back(std::move(module));
  }
}

}  // namespace simrun::cli
