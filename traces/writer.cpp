#include "traces/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/check.h"
#include "base/make_threads.h"
#include "base/user_error.h"
#include "traces/chunk_codec.h"
#include "traces/huge_pages.h"
#include "traces/process_records.h"

namespace simrun::traces {

namespace {

// Of the smaller sections: they are few.
constexpr int kDescriptorLevel = 9;
constexpr uint64_t kMostAtOnce = 64 << 10;  // words that are added in one go, as a rule
// What the summary and the footer may take, at least; the index takes its share for each chunk on top.
constexpr uint64_t kTailBytes = 256 << 10, kTailBytesOfPart = 40;
constexpr size_t kMostReason = 200;  // bytes, why nothing more is written

uint32_t worker_count(const WriterOptions& options) {
  if (options.workers != 0) return std::min(options.workers, 64u);
  const uint32_t processors = std::thread::hardware_concurrency();
  return std::clamp(processors, 1u, 8u);
}

}  // namespace

struct Writer::Task {
  uint64_t sequence = 0;
  Chunk chunk;
  std::map<uint32_t, PathShapes> shapes;
  Bytes processes;
  std::vector<Bytes> descriptors;
  Bytes modules, memory;
  std::vector<SealedSection> sections;  // made by a worker
  std::exception_ptr failure;           // or why it could not
};

Writer::Writer(const std::string& path, const nlohmann::ordered_json& information, const WriterOptions& options)
    : options_(options), file_(path) {
  append_json(SectionType::kInformation, information);
  if (!stopped_.empty()) throw UserError(fmt::format("cannot write {}: {}", path, stopped_));
  const uint32_t workers = worker_count(options_);
  // One more is being filled. Each costs memory, which the system has to clear first.
  ready_.resize(std::max<uint32_t>(workers, 2));
  stopped_.reserve(kMostReason);
  try {
    make_threads("what compresses the trace", [&] {
      for (uint32_t k = 0; k < workers; ++k) workers_.emplace_back([this] { work(); });
    });
  } catch (...) {
    stop_workers();
    throw;
  }
}

Writer::~Writer() { stop_workers(); }

uint32_t Writer::add_process(const ProcessRecord& process) {
  if (processes_.size() >= kMaxProcesses && stopped_.empty()) stopped_ = fmt::format("more than {} processes", kMaxProcesses);
  described_.push_back(static_cast<uint32_t>(processes_.size()));
  processes_.emplace_back();
  new_processes_.push_back(process);
  return static_cast<uint32_t>(processes_.size() - 1);
}

void Writer::end_process(uint32_t process) {
  ProcessState& state = processes_[process];
  state.rest = new_descriptors(process);
  state.shapes = state.table->shapes();
  state.table.reset();
  ended_bytes_ += state.rest.size() + state.shapes.path_count * sizeof(PathShape);
  if (ended_bytes_ >= options_.ended_bytes) close_chunk();
}

void Writer::add_module(const Module& module) { new_modules_.push_back(module); }

void Writer::add_first_files(uint32_t process, std::vector<MappedFile> files) {
  new_files_[process] = std::move(files);
}

void Writer::start_thread(uint32_t thread, uint32_t process_number, uint32_t tid, uint64_t fs, uint64_t gs) {
  CHECK(process_number < processes_.size());
  if (thread >= threads_.size()) threads_.resize(thread + 1);
  threads_[thread].process = process_number;
  threads_[thread].tid = tid;
  threads_[thread].fs = fs;
  threads_[thread].gs = gs;
}

void Writer::set_tid(uint32_t thread, uint32_t tid) {
  threads_[thread].tid = tid;
  if (threads_[thread].part >= 0) open_.threads[static_cast<size_t>(threads_[thread].part)].tid = tid;
}

ThreadPart& Writer::part_of(uint32_t thread) {
  ThreadState& state = threads_[thread];
  if (state.part >= 0) return open_.threads[static_cast<size_t>(state.part)];
  if (open_.threads.empty()) {
    changes_before_.insert(changes_before_.end(), new_changes_.begin(), new_changes_.end());
    new_changes_.clear();
  }
  state.part = static_cast<int64_t>(open_.threads.size());
  ThreadPart part;
  part.thread = thread;
  part.process = state.process;
  part.tid = state.tid;
  part.fs = state.fs;
  part.gs = state.gs;
  part.first_instruction = state.instructions;
  {
    const std::lock_guard lock(mutex_);
    if (!free_words_.empty()) {
      part.words = std::move(free_words_.back());
      free_words_.pop_back();
    }
  }
  part.words.clear();
  // The first one of a chunk is often the only one: its words are not to be moved as they grow.
  if (open_.threads.empty() && part.words.capacity() < options_.chunk_words + kMostAtOnce) {
    part.words.reserve(options_.chunk_words + kMostAtOnce);
    prefer_huge_pages(part.words.data(), part.words.capacity() * sizeof(uint64_t));
  }
  // Whoever begins with this chunk must know where the thread runs.
  if (state.core[0] != 0) {
    part.words.assign(state.core.begin(), state.core.end());
    part.items = 1;
    open_.turns.push_back({static_cast<uint32_t>(state.part), 1});
    open_words_ += state.core.size();
  }
  open_.threads.push_back(std::move(part));
  return open_.threads.back();
}

void Writer::add_items(uint32_t thread, std::span<const uint64_t> words, uint64_t items, uint64_t instructions) {
  ThreadPart& part = part_of(thread);
  part.words.insert(part.words.end(), words.begin(), words.end());
  part.items += items;
  part.instructions += instructions;
  threads_[thread].instructions += instructions;
  instructions_ += instructions;
  const auto index = static_cast<uint32_t>(threads_[thread].part);
  if (!open_.turns.empty() && open_.turns.back().part == index)
    open_.turns.back().items += static_cast<uint32_t>(items);
  else
    open_.turns.push_back({index, static_cast<uint32_t>(items)});
  open_words_ += words.size();
  if (open_words_ >= options_.chunk_words) close_chunk();
}

void Writer::add_paths(uint32_t thread, std::span<const uint64_t> words, uint64_t paths, uint64_t instructions) {
  if (!words.empty()) add_items(thread, words, paths, instructions);
}

// The bases of a part are those before its first word.
void Writer::add_event(uint32_t thread, std::span<const uint64_t> words, uint64_t instructions) {
  if (static_cast<uint32_t>(words[0]) == static_cast<uint32_t>(Event::kCore)) threads_[thread].core = {};  // its old one is not to be said now
  part_of(thread);
  note_event(thread, words);
  add_items(thread, words, 1, instructions);
}

void Writer::note_memory(uint32_t thread, std::span<const uint64_t> words) {
  new_changes_.push_back({threads_[thread].process, {words.begin(), words.end()}});
}

void Writer::note_event(uint32_t thread, std::span<const uint64_t> words) {
  if (changes_memory(static_cast<uint32_t>(words[0]))) note_memory(thread, words);
  ThreadState& state = threads_[thread];
  const auto id = static_cast<Event>(static_cast<uint32_t>(words[0]));
  if (id == Event::kThreadStart && words.size() > 3) {
    state.fs = words[3];
    set_tid(thread, static_cast<uint32_t>(words[1]));
  }
  if (id == Event::kFsBase && words.size() > 1) state.fs = words[1];
  if (id == Event::kGsBase && words.size() > 1) state.gs = words[1];
  if (id == Event::kCore && words.size() == state.core.size()) state.core = {words[0], words[1], 0};
}

// Since the last call, as a section's contents; empty: none.
Bytes Writer::new_descriptors(uint32_t process) {
  ProcessState& state = processes_[process];
  const DescriptorTable& table = *state.table;
  if (state.paths_written == table.paths() && state.superblocks_written == table.superblocks()) return {};
  ByteWriter out;
  out.varint(process);
  const Bytes contents = table.write(state.superblocks_written, state.paths_written);
  out.raw(contents.data(), contents.size());
  state.paths_written = table.paths();
  state.superblocks_written = table.superblocks();
  return out.take();
}

void Writer::seal_descriptors(Task& task) {
  for (const uint32_t number : described_) {
    ProcessState& state = processes_[number];
    Bytes descriptors = state.table != nullptr ? new_descriptors(number) : std::move(state.rest);
    if (!descriptors.empty()) task.descriptors.push_back(std::move(descriptors));
  }
  std::erase_if(described_, [&](uint32_t number) {
    ProcessState& state = processes_[number];
    if (state.table != nullptr) return false;
    state.rest = Bytes();
    state.shapes = {};
    return true;
  });
  ended_bytes_ = 0;
}

void Writer::close_chunk() {
  auto task = std::make_unique<Task>();
  task->chunk = std::move(open_);
  open_ = Chunk{};
  task->chunk.instructions = 0;
  for (const ThreadPart& part : task->chunk.threads) {
    task->chunk.instructions += part.instructions;
    threads_[part.thread].part = -1;
    const ProcessState& of = processes_[part.process];
    if (!task->shapes.contains(part.process))
      task->shapes[part.process] = of.table != nullptr ? of.table->shapes() : of.shapes;
  }
  task->chunk.first_instruction = instructions_ - task->chunk.instructions;
  open_words_ = 0;
  seal_descriptors(*task);
  if (!new_processes_.empty()) {
    task->processes = write_processes(static_cast<uint32_t>(processes_.size() - new_processes_.size()), new_processes_);
    new_processes_.clear();
  }
  if (!new_files_.empty() || !changes_before_.empty()) task->memory = write_memory(new_files_, changes_before_);
  new_files_.clear();
  changes_before_.clear();
  if (!new_modules_.empty()) task->modules = write_modules(new_modules_);
  new_modules_.clear();
  submit(std::move(task));
}

void Writer::submit(std::unique_ptr<Task> task) {
  std::unique_lock lock(mutex_);
  has_room_.wait(lock, [&] { return submitted_ - committed_ < ready_.size(); });
  task->sequence = submitted_++;
  waiting_.push_back(std::move(task));
  has_work_.notify_one();
}

// Nothing that goes wrong leaves it.
void Writer::work() {
  std::optional<ChunkEncoder> encoder;
  for (;;) {
    std::unique_ptr<Task> task;
    {
      std::unique_lock lock(mutex_);
      has_work_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
    try {
      run(*task, encoder);
    } catch (...) {
      task->failure = std::current_exception();
      encoder.reset();  // it may be amid a chunk
    }
    const std::lock_guard lock(mutex_);
    ready_[task->sequence % ready_.size()] = std::move(task);
    commit_ready();
  }
}

void Writer::run(Task& task, std::optional<ChunkEncoder>& encoder) const {
  if (!task.processes.empty())
    task.sections.push_back(seal_section(SectionType::kProcesses, task.processes, kDescriptorLevel));
  for (const Bytes& descriptors : task.descriptors)
    task.sections.push_back(seal_section(SectionType::kDescriptors, descriptors, kDescriptorLevel));
  if (!task.memory.empty()) task.sections.push_back(seal_section(SectionType::kMemory, task.memory, kDescriptorLevel));
  if (!task.modules.empty())
    task.sections.push_back(seal_section(SectionType::kModules, task.modules, kDescriptorLevel));
  if (task.chunk.threads.empty()) return;
  if (!encoder) encoder.emplace();
  const Bytes& chunk = encoder->encode(task.chunk, [&](uint32_t process) { return task.shapes.at(process); });
  task.sections.push_back(seal_section(SectionType::kChunk, chunk, options_.level, task.chunk.first_instruction,
                                       task.chunk.instructions));
}

void Writer::commit_ready() {
  while (const std::unique_ptr<Task> task = std::move(ready_[committed_ % ready_.size()])) {
    const uint64_t end = file_.bytes(), chunks = chunks_.size();
    try {
      if (task->failure != nullptr) std::rethrow_exception(task->failure);
      commit(*task);
    } catch (...) {
      file_.cut_back_to(end);
      chunks_.erase(chunks_.begin() + static_cast<ptrdiff_t>(chunks), chunks_.end());
      stop_for(std::current_exception());
    }
    ++committed_;
  }
  has_room_.notify_all();
}

// Allocates nothing: memory may be what there was none of.
void Writer::stop_for(std::exception_ptr failure) {
  if (!stopped_.empty()) return;
  try {
    std::rethrow_exception(std::move(failure));
  } catch (const std::bad_alloc&) {
    stopped_ = "there is not enough memory";
  } catch (const std::exception& error) {
    stopped_ = std::string_view(error.what()).substr(0, kMostReason);
  }
}

void Writer::commit(Task& task) {
  ChunkEntry entry;
  for (ThreadPart& part : task.chunk.threads) {
    std::vector<uint64_t> words = std::move(part.words);
    part.words.clear();
    entry.parts.push_back(part);
    if (free_words_.size() < 64) free_words_.push_back(std::move(words));
  }
  for (const SealedSection& section : task.sections) {
    if (!append(section)) return;
    if (section.section.type != SectionType::kChunk) continue;
    entry.section = file_.sections().back();
    index_entries_ += 1 + entry.parts.size();
    chunks_.push_back(std::move(entry));
  }
}

bool Writer::append(const SealedSection& section) {
  if (!stopped_.empty()) return false;
  if (file_.append(section, kTailBytes + kTailBytesOfPart * index_entries_)) return true;
  stopped_ = file_.why();
  return false;
}

void Writer::append_json(SectionType type, const nlohmann::ordered_json& value) {
  const std::string text = value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  append(seal_section(type, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}, kDescriptorLevel));
}

std::string Writer::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

uint64_t Writer::bytes() const {
  const std::lock_guard lock(mutex_);
  return file_.bytes();
}

uint64_t Writer::written_instructions() const {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const Section& section : file_.sections()) sum += section.instructions;
  return sum;
}

void Writer::stop_workers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  has_work_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

// Sections with their places, and which threads each chunk holds.
Bytes Writer::index() const {
  ByteWriter out;
  out.varint(chunks_.size());
  uint64_t offset = 0;
  for (const ChunkEntry& chunk : chunks_) {
    out.varint(chunk.section.offset - offset);
    offset = chunk.section.offset;
    out.varint(chunk.parts.size());
    for (const ThreadPart& part : chunk.parts) {
      out.varint(part.thread);
      out.varint(part.process);
      out.varint(part.tid);
      out.varint(part.first_instruction);
      out.varint(part.instructions);
    }
  }
  return out.take();
}

bool Writer::append_end(nlohmann::ordered_json summary) {
  const uint64_t start = file_.bytes();
  uint64_t instructions = 0;
  for (const ChunkEntry& chunk : chunks_) instructions += chunk.section.instructions;
  summary["instructions"] = instructions;
  summary["chunks"] = chunks_.size();
  if (!stopped_.empty()) summary["stopped"] = stopped_;
  const std::string text = summary.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  if (file_.append(seal_section(SectionType::kSummary, bytes, kDescriptorLevel), 0) &&
      file_.append(seal_section(SectionType::kIndex, index(), kDescriptorLevel), 0) &&
      file_.append_footer())
    return true;
  file_.cut_back_to(start);
  return false;
}

void Writer::finish(nlohmann::ordered_json summary) {
  if (!open_.threads.empty() || !new_modules_.empty() || !new_processes_.empty()) close_chunk();
  stop_workers();
  // Where no space could be reserved, the last chunks make room for the end.
  while (!append_end(summary)) {
    if (stopped_.empty()) stopped_ = file_.why();
    if (chunks_.empty())
      throw UserError(fmt::format("cannot complete the trace: {} (what was recorded is in {})", file_.why(),
                                  file_.temporary_name()));
    file_.cut_back_to(chunks_.back().section.offset);
    chunks_.pop_back();
  }
  file_.finish();
}

}  // namespace simrun::traces
