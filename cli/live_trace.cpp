#include "cli/live_trace.h"

#include "cli/process_maps.h"
#include "instr/channel/doorbell.h"

namespace simrun::cli {

namespace {

using Origin = traces::ProcessRecord::Origin;

Origin origin_of(host::Family::Birth::Kind kind) {
  switch (kind) {
    case host::Family::Birth::Kind::kLaunched:
      return Origin::kLaunched;
    case host::Family::Birth::Kind::kForked:
      return Origin::kForked;
    case host::Family::Birth::Kind::kExecuted:
      return Origin::kExecuted;
  }
  return Origin::kLaunched;
}

}  // namespace

std::unique_ptr<LiveTrace::Process> LiveTrace::make_process(uint32_t index) {
  const host::Family::Birth& birth = family_.birth(index);
  auto process = std::make_unique<Process>();
  traces::ProcessRecord record{origin_of(birth.kind), birth.parent, birth.token, 0, writer_.instructions(), {}};
  if (family_.is_forgotten(index)) {
    writer_.end_process(writer_.add_process(record));
    return process;
  }
  host::Target& target = family_[index];
  record.pid = static_cast<uint32_t>(target.pid());
  record.command = process->command = command_line_of(target.pid());
  if (birth.is_copy) {
    const Process& parent = *processes_[birth.parent];
    process->modules = parent.modules.of_child(index, target.pid());
    if (record.command.empty()) record.command = process->command = parent.command;  // it has ended already
  } else {
    process->modules = TraceModules(index, target.pid(), target.header().app_pc);
  }
  process->mapped.emplace(target.mapping());
  const uint32_t number = writer_.add_process(record);
  if (code_ == Code::kUsed) process->all = std::make_unique<traces::DescriptorTable>();
  process->descriptors.emplace(*process->mapped, process->all ? *process->all : writer_.process(number));
  if (!birth.is_copy) writer_.add_first_files(index, first_files(index));
  return process;
}

std::vector<traces::MappedFile> LiveTrace::first_files(uint32_t index) const {
  std::vector<traces::MappedFile> files;
  for (const border::MappedFile& f : family_.first_files(index))
    files.push_back({f.begin, f.end, f.offset, f.device, f.number, f.shared});
  return files;
}

void LiveTrace::start_thread(const channel::ThreadReport& report, bool written) {
  while (processes_.size() <= report.process) {  // one that ended before it had a thread is numbered too
    processes_.push_back(make_process(static_cast<uint32_t>(processes_.size())));
    for (const traces::Module& module : processes_.back()->modules.all()) tell(module);
  }
  if (core_of_.size() <= report.index) core_of_.resize(report.index + 1, kNobody);
  writer_.start_thread(report.index, report.process, report.tid, 0, 0);
  Process& process = *processes_[report.process];
  if (process.thread) return;
  process.thread = report.index;
  put_event(report.index, traces::Event::kProcessStart, family_.birth(report.process).is_copy ? 1 : 0, written);
}

std::span<const uint64_t> LiveTrace::renumbered(const channel::MergeThread& thread, std::span<const uint64_t> words) {
  Process& process = *processes_[thread.process];
  words_.assign(words.begin(), words.end());
  const std::span<uint64_t> all(words_);
  for (size_t at = 0; at < all.size();) {  // paths in a row, or an event
    const auto id = static_cast<uint32_t>(all[at]);
    const size_t length = id < border::kFirstPath ? all.size() - at : 1 + size_t{process.all->path(id).words};
    process.used.renumber(all.subspan(at, length), *process.mapped, writer_.process(thread.process));
    at += length;
  }
  return words_;
}

void LiveTrace::forget_paths(uint32_t index) {
  Process& process = *processes_[index];
  process.all = std::make_unique<traces::DescriptorTable>();
  process.descriptors.emplace(*process.mapped, *process.all);
  process.used = {};
  ++process.times_forgotten;
  process.awaits_new_paths = true;
}

bool LiveTrace::has_new_paths(Process& process) {
  const auto renewals = process.mapped->header().statistics.renewals.load(std::memory_order_acquire);
  process.awaits_new_paths = renewals < process.times_forgotten;
  return !process.awaits_new_paths;
}

void LiveTrace::forget_process(uint32_t process, bool written) {
  if (process >= processes_.size()) return;
  Process& ended = *processes_[process];
  if (ended.thread) put_event(*ended.thread, traces::Event::kProcessEnd, {}, written);
  if (!ended.mapped) return;
  ended.descriptors.reset();
  ended.mapped.reset();
  ended.all.reset();
  ended.used = DescriptorSelection();
  writer_.end_process(process);
}

void LiveTrace::put_event(uint32_t thread, traces::Event event, std::optional<uint64_t> payload, bool written) {
  const uint64_t words[] = {static_cast<uint64_t>(event) | uint64_t{payload ? 1u : 0u} << 32, payload.value_or(0)};
  const std::span<const uint64_t> all(words, payload ? 2 : 1);
  if (written)
    writer_.add_event(thread, all);
  else
    writer_.note_event(thread, all);
}

void LiveTrace::look_at(const channel::MergeThread& thread, std::span<const uint64_t> event) {
  constexpr size_t kTicket = 9;
  if (static_cast<border::Event>(static_cast<uint32_t>(event[0])) != border::Event::kMappingChange) return;
  if (event.size() <= kTicket || event[kTicket] == 0) return;
  for (const traces::Module& module : processes_[thread.process]->modules.update()) tell(module);
}

void LiveTrace::tell(const traces::Module& module) {
  writer_.add_module(module);
  if (on_module_) on_module_(module);
}

bool LiveTrace::run_on(const channel::ThreadReport& report, bool written) {
  if (last_on_core_.size() <= report.core) last_on_core_.resize(report.core + 1, kNobody);
  const bool is_new_there = last_on_core_[report.core] != report.index;
  const bool moved = core_of_[report.index] != report.core;
  last_on_core_[report.core] = report.index;
  core_of_[report.index] = report.core;
  if (written && (moved || is_new_there)) put_core(report.index, is_new_there);
  return is_new_there;
}

bool LiveTrace::say_core(const channel::MergeThread& thread) {
  if (core_of_[thread.report.index] == kNobody) return false;
  put_core(thread.report.index, true);
  return true;
}

void LiveTrace::put_core(uint32_t thread, bool is_new_there) {
  const uint64_t words[] = {static_cast<uint64_t>(traces::Event::kCore) | uint64_t{2} << 32, core_of_[thread],
                            is_new_there ? uint64_t{1} : 0};
  writer_.add_event(thread, words);
}

}  // namespace simrun::cli
