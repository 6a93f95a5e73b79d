#include "cli/live_trace.h"

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

LiveTrace::LiveTrace(host::Family& family, traces::Writer& writer, Code code)
    : family_(family), writer_(writer), described_(code), code_(family) {
  code_.set_on_module([this](const traces::Module& module) {
    writer_.add_module(module);
    if (on_module_) on_module_(module);
  });
}

void LiveTrace::make_process(uint32_t index) {
  const host::Family::Birth& birth = family_.birth(index);
  const LiveCode::Process& process = code_.meet();
  traces::ProcessRecord record{origin_of(birth.kind), birth.parent, birth.token, 0, writer_.instructions(), process.command};
  if (!process.mapped) {
    writer_.end_process(writer_.add_process(record));
    return;
  }
  record.pid = static_cast<uint32_t>(family_[index].pid());
  const uint32_t number = writer_.add_process(record);
  code_.describe(index, described_ == Code::kUsed ? nullptr : &writer_.process(number));
  if (!birth.is_copy) writer_.add_first_files(index, first_files(index));
}

std::vector<traces::MappedFile> LiveTrace::first_files(uint32_t index) const {
  std::vector<traces::MappedFile> files;
  for (const border::MappedFile& f : family_.first_files(index))
    files.push_back({f.begin, f.end, f.offset, f.device, f.number, f.shared});
  return files;
}

void LiveTrace::start_thread(const channel::ThreadReport& report, bool written) {
  while (code_.processes() <= report.process) {  // one that ended before it had a thread is numbered too
    const uint32_t index = code_.processes();
    make_process(index);
    code_.tell_modules(index);
  }
  processes_.resize(code_.processes());
  if (core_of_.size() <= report.index) core_of_.resize(report.index + 1, kNobody);
  writer_.start_thread(report.index, report.process, report.tid, 0, 0);
  Process& process = processes_[report.process];
  if (process.thread) return;
  process.thread = report.index;
  put_event(report.index, traces::Event::kProcessStart, family_.birth(report.process).is_copy ? 1 : 0, written);
}

std::span<const uint64_t> LiveTrace::renumbered(const channel::MergeThread& thread, std::span<const uint64_t> words) {
  const LiveCode::Process& process = code_[thread.process];
  words_.assign(words.begin(), words.end());
  const std::span<uint64_t> all(words_);
  for (size_t at = 0; at < all.size();) {  // paths in a row, or an event
    const auto id = static_cast<uint32_t>(all[at]);
    const size_t length = id < border::kFirstPath ? all.size() - at : 1 + size_t{process.own->path(id).words};
    processes_[thread.process].used.renumber(all.subspan(at, length), *process.mapped, writer_.process(thread.process));
    at += length;
  }
  return words_;
}

void LiveTrace::forget_paths(uint32_t index) {
  code_.forget_paths(index);
  processes_[index].used = {};
}

void LiveTrace::forget_process(uint32_t process, bool written) {
  if (process >= processes_.size()) return;
  Process& ended = processes_[process];
  if (ended.thread) put_event(*ended.thread, traces::Event::kProcessEnd, {}, written);
  if (!code_[process].mapped) return;
  code_.forget_process(process);
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

void LiveTrace::run_on(const channel::ThreadReport& report, bool written) {
  if (last_on_core_.size() <= report.core) last_on_core_.resize(report.core + 1, kNobody);
  const bool is_new_there = last_on_core_[report.core] != report.index;
  const bool moved = core_of_[report.index] != report.core;
  last_on_core_[report.core] = report.index;
  core_of_[report.index] = report.core;
  if (written && (moved || is_new_there)) put_core(report.index, is_new_there);
}

void LiveTrace::say_core(const channel::MergeThread& thread) {
  if (core_of_[thread.report.index] != kNobody) put_core(thread.report.index, true);  // else threads are not put on cores
}

void LiveTrace::put_core(uint32_t thread, bool is_new_there) {
  const uint64_t words[] = {static_cast<uint64_t>(traces::Event::kCore) | uint64_t{2} << 32, core_of_[thread],
                            is_new_there ? uint64_t{1} : 0};
  writer_.add_event(thread, words);
}

}  // namespace simrun::cli
