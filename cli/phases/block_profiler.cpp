#include "cli/phases/block_profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"
#include "instr/border/descriptors.h"
#include "instr/border/stream.h"
#include "instr/channel/special_operands.h"
#include "instr/channel/stream_error.h"
#include "traces/elf_file.h"

namespace simrun::cli {

using simpoint::IntervalKind;

namespace {

void add(std::vector<uint64_t>& executions, uint64_t word, uint64_t times) {
  if (word >= executions.size()) executions.resize(2 * word + 1);
  executions[word] += times;
}

// A loop of stores of 16 bytes would be so many instructions.
constexpr uint64_t kBytesOfAStore = 16;

simpoint::CodePlace place_of(const CodeModules& modules, uint64_t block) {
  if (is_code_address(block)) return modules.place(block);
  if (block == kStringsAddress) return {0, simpoint::kStrings, 0};
  const uint64_t distance = block - kFirstDistanceAddress;
  if (distance < ReuseDistances::kBuckets) return {0, simpoint::kDistances, distance};
  return {0, simpoint::kFetchDistances, distance - ReuseDistances::kBuckets};
}

}  // namespace

BlockProfiler::BlockProfiler(const ProfilerOptions& options, OnInterval on_interval, OriginOf origin_of)
    : options_(options),
      on_interval_(std::move(on_interval)),
      origin_of_(std::move(origin_of)),
      left_out_code_(options.left_out),
      looks_back_(options.kind == IntervalKind::kLoop || options.kind == IntervalKind::kProcedure ? 1 : 0) {
  profile_.kind = options.kind;
  profile_.interval_length = options.length;
}

uint32_t BlockProfiler::start_thread(const channel::ThreadReport& thread) {
  if (threads_.size() <= thread.index) threads_.resize(thread.index + 1), numbers_.resize(thread.index + 1);
  names_.of(thread);
  numbers_[thread.index] = take_number();
  return thread.index;
}

// The lowest that no living thread has.
uint32_t BlockProfiler::take_number() {
  const auto free = std::find(number_is_taken_.begin(), number_is_taken_.end(), false);
  const auto number = static_cast<uint32_t>(free - number_is_taken_.begin());
  if (free == number_is_taken_.end())
    number_is_taken_.push_back(true);
  else
    *free = true;
  return number;
}

uint32_t BlockProfiler::dimension_of(const Thread& thread, simpoint::CodePlace place) {
  const auto [module, is_new_module] = module_numbers_.try_emplace(place.module, static_cast<uint32_t>(module_numbers_.size()));
  if (is_new_module && place.module.starts_with('/'))   // now: it may be another file when the run ends
    if (std::string id = traces::build_id_of(place.module); !id.empty()) profile_.modules.push_back({place.module, std::move(id)});
  const BlockKey key{module->second, thread.number, place.module.empty() ? thread.process_index : 0, place.offset};
  const auto [at, is_new] = dimensions_.try_emplace(key, static_cast<uint32_t>(profile_.blocks.size() + 1));
  if (is_new) profile_.blocks.push_back({std::move(place), thread.number});
  return at->second;
}

void BlockProfiler::give_number_back(uint32_t handle) {
  const uint32_t number = std::exchange(numbers_[handle], kNoNumber);
  if (number != kNoNumber) number_is_taken_[number] = false;
}

void BlockProfiler::end_thread(Thread& thread) {
  pack(thread);
  threads_[thread.index] = nullptr;
  give_number_back(thread.index);
}

BlockProfiler::Thread& BlockProfiler::meet(const channel::MergeThread& merged, channel::PathTable& paths) {
  Process& process = processes_[process_of(merged)];
  if (process.table == nullptr) {
    const ProcessOrigin origin = origin_of_(process_of(merged));
    process.name = origin.name;
    if (origin.copy_of) process.modules = modules_of(*origin.copy_of);  // it may have ended already
    if (origin.mappings) process.modules.know_all(*origin.mappings);
    process.modules.look_at(static_cast<pid_t>(merged.report.tid));
  }
  if (++process.threads == 2)
    for (const auto& first : counted_)
      if (first->process == &process && !first->ended) first->before = process.executions;
  process.table = &paths;
  auto thread = std::make_unique<Thread>();
  thread->process = &process;
  thread->process_index = process_of(merged);
  thread->index = merged.replay.handle;
  thread->number = numbers_[thread->index] == kNoNumber ? 0 : numbers_[thread->index];
  thread->name = names_.of(merged.report);
  if (options_.distances) thread->distances = std::make_unique<Distances>();
  const auto behind = [](uint32_t index, const auto& other) { return index < other->index; };
  const auto place = std::upper_bound(counted_.begin(), counted_.end(), thread->index, behind);
  threads_[thread->index] = thread.get();
  return **counted_.insert(place, std::move(thread));
}

CodeModules BlockProfiler::modules_of(uint32_t process) const {
  if (const auto living = processes_.find(process); living != processes_.end()) return living->second.modules;
  const auto forgotten = modules_of_forgotten_.find(process);
  return forgotten == modules_of_forgotten_.end() ? CodeModules() : forgotten->second;
}

void BlockProfiler::event(channel::MergeThread& merged, std::span<const uint64_t> words, channel::PathTable& paths) {
  using border::Event;
  const auto event = static_cast<Event>(static_cast<uint32_t>(words[0]));
  names_.event(merged, words);
  if (event == Event::kMappingChange && words.size() >= 10 && words[9] != 0)
    processes_[process_of(merged)].modules.look_at(static_cast<pid_t>(merged.report.tid));
  if (event == Event::kThreadEnd || event == Event::kExec) give_number_back(merged.replay.handle);   // the new image's first thread takes it
  if (Thread* const thread = threads_[merged.replay.handle]; thread != nullptr) {
    if (event == Event::kThreadEnd || event == Event::kExec) take_end(*thread);
    if (event == Event::kThreadEnd) end_thread(*thread);
  }
  if (event != Event::kCut && event != Event::kPathCut && event != Event::kPathCounts && event != Event::kInterval)
    return;
  if (event != Event::kPathCounts && words.size() < (event == Event::kPathCut ? 3 : 4))
    throw channel::StreamError(fmt::format("event {} has no words", static_cast<uint32_t>(event)));
  Thread& thread = thread_of(merged, paths);
  if (event == Event::kPathCounts) return take_counts(thread, words.subspan(1));
  if (event == Event::kInterval) return take_report(thread, words[1], words[2], words[3]);
  if (event == Event::kCut) take_cut_strings(thread, words);
  if (words[2] != 0) cut(thread, words[1], static_cast<uint32_t>(words[2]));
}

void BlockProfiler::take_counts(Thread& thread, std::span<const uint64_t> words) {
  Process& process = *thread.process;
  for (const auto& [path, executions] : channel::path_counts(process.table->process(), words)) {
    if (process.paths.find(path) == nullptr) learn(process, path, process.table->instructions(path));
    count(thread, path, executions);
  }
}

// The others need not wait for one that has ended, nor for one whose process becomes another.
void BlockProfiler::take_end(Thread& thread) {
  running_ -= std::exchange(thread.runs, false);
  if (leader_ != nullptr && (leader_ == &thread || leader_->process == thread.process)) leader_ = nullptr;
}

// What is left of a thread that has ended until its last interval is over: what it has executed in it.
void BlockProfiler::pack(Thread& thread) {
  std::vector<uint64_t> times;
  times.reserve(thread.touched.size());
  for (const uint32_t word : thread.touched) times.push_back(thread.executions[word]);
  thread.executions = std::move(times);
  thread.touched.shrink_to_fit();
  thread.before = std::vector<uint64_t>();
  thread.cut_executions = Executions();
  if (thread.distances != nullptr) thread.distances->data.end(), thread.distances->fetches.end();
  thread.ended = true;
}

// Nothing new is learnt of its code: what its threads have executed in this interval is clear, by block, and the rest can
// go. Programs may make thousands of processes in an interval.
void BlockProfiler::forget_process(uint32_t index) {
  const auto process = processes_.find(index);
  if (process == processes_.end()) return;
  const CodeModules& modules = modules_of_forgotten_[index] = std::move(process->second.modules);
  for (const auto& thread : counted_) {
    if (thread->process != &process->second) continue;
    if (!thread->ended) end_thread(*thread);
    settle(*thread);
    thread->process = nullptr;
    thread->modules = &modules;
  }
  processes_.erase(process);
}

void BlockProfiler::settle(Thread& thread) {
  take_touched(thread);
  thread.parts.take([&](uint32_t block, uint64_t instructions) {
    const uint32_t dimension = block < thread.dimensions.size() ? thread.dimensions[block] : 0;
    thread.blocks.push_back({thread.process->paths.address_of(block), dimension, instructions});
  });
  thread.blocks.shrink_to_fit();
  thread.executions = std::vector<uint64_t>();
  thread.touched = std::vector<uint32_t>();
  thread.parts = SparseCounts();
  thread.dimensions = std::vector<uint32_t>();
}

// The thread has retired so many instructions, all of which are counted. `next_pc` 0: it ends, or waits perhaps.
void BlockProfiler::take_report(Thread& thread, uint64_t retired, uint64_t next_pc, uint64_t string_bytes) {
  thread.string_bytes += string_bytes - std::exchange(thread.strings_reported, string_bytes);
  interval_reported_ += retired - std::exchange(thread.reported, retired);
  if (next_pc == 0) running_ -= std::exchange(thread.runs, false);
  if (begun_ && interval_reported_ < options_.length) return;
  if (begun_ && !leads(thread, interval_reported_ - options_.length)) return;
  if (begun_ && next_pc != 0) end_interval();
  if (!begun_ && next_pc != 0) begin_interval(thread, next_pc, 0);
}

PathBlocks& BlockProfiler::learn(Process& process, uint64_t word, PathInstructions code) {
  if (PathBlocks* known = process.paths.find(word)) return *known;
  PathBlocks& path = process.paths.learn(word, code);
  const simpoint::CodePlace place = process.modules.place(code[0].pc);
  const std::string& module = place.module;
  if (options_.kind == IntervalKind::kBarrier) {
    path.synchronisation = barriers_.at(place);
    path.of_runtime = barriers_.in_module(module);
  }
  path.left_out = left_out_code_.covers(place);
  path.repeats = std::any_of(code.begin(), code.end(), [](const auto& i) { return (i.flags & border::kRepeats) != 0; });
  path.plain = !path.left_out && !path.repeats && path.synchronisation == Synchronisation::kNone;
  return path;
}

// New, left out, with string instructions, or an interval begins or may end in it.
void BlockProfiler::take_slowly(Thread& thread, const uint64_t* words) {
  Process& process = *thread.process;
  const uint64_t word = words[0];
  const PathBlocks* const known = process.paths.find(word);
  const bool plain = known != nullptr && begun_ && !known->left_out && !thread.waits && ender_ != &thread &&
                     known->synchronisation == Synchronisation::kNone;
  if (plain && options_.kind == IntervalKind::kBarrier) {
    if (known->repeats) take_strings(thread, words, 0, known->instructions);
    pass(known->instructions);
    return count(thread, word);
  }
  const std::vector<channel::PathInstruction> code = process.table->instructions(word);
  const PathBlocks& path = learn(process, word, code);
  // Behind a barrier the interval ends where the thread goes on with code that is counted; what others do meanwhile is
  // before it. At a fork it ends at the call.
  const bool ends = passes_barrier(thread, path) && may_end_at_barrier(thread);
  const bool forks = path.synchronisation == Synchronisation::kFork;
  if (ends) ender_ = &thread;
  if (ender_ == &thread && begun_ && (!path.left_out || (ends && forks))) end_interval();
  if (!begun_ && (!path.left_out || forks)) begin_interval(thread, code, 0);
  if (path.left_out) {
    interval_left_out_ += path.instructions;
    const uint64_t first_pc = code[0].pc;
    if (forks) add_cut_execution(thread, first_pc);
    thread.last.reset();
    return;
  }
  const std::optional<uint32_t> end = end_in(thread, code, path.instructions);
  if (!end) {
    if (path.repeats) take_strings(thread, words, 0, path.instructions);
    pass(path.instructions);
    count(thread, word);
    if (quiet_ == 0) thread.last = code.back();
    return;
  }
  take_part(thread, code, 0, *end);
  if (path.repeats) take_strings(thread, words, 0, *end);
  end_interval();
  begin_interval(thread, code, *end);
  take_part(thread, code, *end, path.instructions);
  if (path.repeats) take_strings(thread, words, *end, path.instructions);
  for (uint32_t i = *end; i < path.instructions; ++i) ++process.last_cut_executions[code[i].pc];
  add_executions(thread, word, 1);
  pass(path.instructions - *end);
}

void BlockProfiler::cut(Thread& thread, uint64_t word, uint32_t instructions) {
  const std::vector<channel::PathInstruction> code = thread.process->table->instructions(word);
  instructions = std::min(instructions, static_cast<uint32_t>(code.size()));
  if (learn(*thread.process, word, code).left_out) {
    interval_left_out_ += instructions;
    return;
  }
  if (!begun_) begin_interval(thread, code, 0);
  const auto take = [&](uint32_t from, uint32_t to) {
    take_part(thread, code, from, to);
    for (uint32_t i = from; i < to; ++i) add_cut_execution(thread, code[i].pc);
  };
  // Of the other kinds no interval ends in it: no loop or call is known to be behind it.
  const std::optional<uint32_t> end = options_.kind == IntervalKind::kFixed ? end_in(thread, code, instructions) : std::nullopt;
  const uint32_t at = end.value_or(instructions);
  take(0, at);
  if (end) {
    end_interval();
    begin_interval(thread, code[at].pc, 0);
    take(at, instructions);
  }
  thread.last.reset();  // what comes next is a handler
  pass(end ? instructions - at : instructions);
}

namespace {

// As the engine counts them: not with 32-bit addresses.
bool is_counted_string(const border::OperandDescriptor& o) {
  return o.form == border::OperandForm::kRepeatString && (o.flags & border::kAddress32) == 0;
}

}  // namespace

// Of the instructions [from, to) of a path of the stream.
void BlockProfiler::take_strings(Thread& thread, const uint64_t* words, uint32_t from, uint32_t to) {
  const channel::DecodedPath& path = thread.process->table->decode(words[0]);
  for (uint32_t k = 0; k < path.special_count; k += 1 + path.specials[k].interleaved) {
    const border::OperandDescriptor& o = path.specials[k].operand;
    if (!is_counted_string(o) || o.instruction < from || o.instruction >= to) continue;
    thread.string_bytes += channel::string_run(o, words).iterations * o.size;
  }
}

// Of a path that a fault cut: those that are done, and what is done of the one that was next.
void BlockProfiler::take_cut_strings(Thread& thread, std::span<const uint64_t> event) {
  const uint64_t word = event[1], instructions = event[2];
  const std::span<const uint64_t> words = event.subspan(3);   // the first is in the place of the path
  const PathBlocks* const known = thread.process->paths.find(word);
  if (known != nullptr && known->left_out) return;
  const channel::DecodedPath& path = thread.process->table->decode(word);
  for (uint32_t k = 0; k < path.special_count; k += 1 + path.specials[k].interleaved) {
    const border::OperandDescriptor& o = path.specials[k].operand;
    if (!is_counted_string(o) || o.instruction > instructions) continue;
    if (o.instruction == instructions)
      thread.string_bytes += channel::begun_string(o, words[0]).iterations * o.size;
    else if (o.word_b < words.size() && o.word_c < words.size())
      thread.string_bytes += channel::string_run(o, words.data()).iterations * o.size;
  }
}

void BlockProfiler::take_part(Thread& thread, PathInstructions code, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; ++i) thread.parts.add(thread.process->paths.block_of(code, i), 1);
}

// Whether the thread has just left a barrier, or begins a parallel region.
bool BlockProfiler::passes_barrier(Thread& thread, const PathBlocks& path) {
  if (options_.kind != IntervalKind::kBarrier) return false;
  if (path.synchronisation == Synchronisation::kFork) return true;
  if (path.synchronisation == Synchronisation::kWait) thread.waits = true;
  if (!thread.waits || path.of_runtime) return false;
  thread.waits = false;
  return true;
}

// At which instruction of a path the interval ends, before it.
std::optional<uint32_t> BlockProfiler::end_in(const Thread& thread, PathInstructions code,
                                              uint32_t instructions) const {
  if (quiet_ >= instructions || options_.kind == IntervalKind::kBarrier) return std::nullopt;
  if (!leads(thread, overdue_)) return std::nullopt;
  if (options_.kind == IntervalKind::kFixed) return static_cast<uint32_t>(quiet_);
  if (quiet_ == 0 && thread.last && may_end(*thread.last, code[0])) return 0;
  for (auto i = static_cast<uint32_t>(std::max<uint64_t>(quiet_, 1)); i < instructions; ++i)
    if (may_end(code[i - 1], code[i])) return i;
  return std::nullopt;
}

bool BlockProfiler::may_end(const channel::PathInstruction& before, const channel::PathInstruction& next) const {
  constexpr uint8_t kNoLoop = border::kCall | border::kReturn;
  if ((before.flags & border::kEndsBlock) == 0) return false;
  if (options_.kind == IntervalKind::kProcedure) return (before.flags & border::kCall) != 0;
  // A loop: control went back, by neither a call nor a return.
  return (before.flags & kNoLoop) == 0 && next.pc <= before.pc;
}

// `meanwhile`: executions of the instruction at `pc` by the thread in a path that is not counted yet.
void BlockProfiler::begin_interval(const Thread& thread, uint64_t pc, uint64_t meanwhile) {
  const Process& process = *thread.process;
  interval_.start = retired_;
  interval_.begin = {process.modules.place(pc),
                     executions_of(process, pc, process.executions, process.cut_executions) + meanwhile + 1,
                     process.name};
  interval_.executed_before =
      executions_of(process, pc, process.last_executions, process.last_cut_executions) + meanwhile;
  if (process.threads > 1) {
    interval_.begin.thread = thread.name;
    interval_.begin.thread_count = executions_of(process, pc, thread.before, thread.cut_executions) + meanwhile + 1;
  }
  quiet_ = options_.length;
  overdue_ = 0;
  leader_ = &thread;
  ender_ = nullptr;
  for (const auto& other : counted_) other->passed = 0, other->last.reset();
  for (auto& [index, other] : processes_) {
    for (const uint32_t word : other.last_words) other.last_executions[word] = 0;
    other.last_words.clear();
    other.last_cut_executions.clear();
  }
  begun_ = true;
}

// At instruction `at` of a path that is not counted yet.
void BlockProfiler::begin_interval(const Thread& thread, PathInstructions code, uint32_t at) {
  const uint64_t pc = code[at].pc;
  begin_interval(thread, pc, occurrences(code, pc, at));
}

uint64_t BlockProfiler::executions_of(const Process& process, uint64_t pc, const std::vector<uint64_t>& words,
                                      const Executions& cuts) {
  uint64_t sum = 0;
  for (const uint64_t address : process.modules.addresses(process.modules.place(pc))) {
    for (const uint32_t word : process.paths.paths_around(address))
      if (word < words.size() && words[word] != 0) {
        const std::span<const uint64_t> addresses = process.paths.addresses(word);
        sum += words[word] * static_cast<uint64_t>(std::count(addresses.begin(), addresses.end(), address));
      }
    const auto cut = cuts.find(address);
    if (cut != cuts.end()) sum += cut->second;
  }
  return sum;
}

// In the intervals that are over.
void BlockProfiler::add_executions(Thread& thread, uint64_t word, uint64_t times) {
  add(thread.process->executions, word, times);
  if (thread.process->threads > 1 && !thread.ended) add(thread.before, word, times);
}

// In the interval that is not over.
void BlockProfiler::add_cut_execution(Thread& thread, uint64_t pc) {
  ++thread.cut_executions[pc];
  ++thread.process->cut_executions[pc];
  ++thread.process->last_cut_executions[pc];
}

void BlockProfiler::flush(Thread& thread) {
  thread.runs = false;
  thread.last.reset();
  if (thread.process == nullptr) return flush_settled(thread);
  if (thread.touched.empty() && thread.parts.empty()) return;
  take_touched(thread);
  name_new_blocks(thread);
  const PathBlockTable& paths = thread.process->paths;
  thread.parts.take([&](uint32_t block, uint64_t count) {
    counts_.add(thread.dimensions[block], count);
    if (is_code_address(paths.address_of(block))) interval_.length += count;
  });
}

// What is executed in whole paths is in `parts` then, and among the executions of the process; and the strings and distances.
void BlockProfiler::take_touched(Thread& thread) {
  PathBlockTable& paths = thread.process->paths;
  for (size_t k = 0; k < thread.touched.size(); ++k) {
    const uint32_t word = thread.touched[k];
    const uint64_t times = std::exchange(thread.executions[thread.ended ? k : word], 0);
    add_executions(thread, word, times);
    add(thread.process->last_executions, word, times);
    thread.process->last_words.push_back(word);
    paths.for_each_block(*paths.find(word),
                         [&](uint32_t block, uint32_t instructions) { thread.parts.add(block, times * instructions); });
  }
  thread.touched.clear();
  if (const uint64_t stores = thread.string_bytes / kBytesOfAStore; stores != 0 && options_.strings) {
    thread.parts.add(paths.beside_blocks(kStringsAddress), stores);
    thread.string_bytes %= kBytesOfAStore;
  }
  if (thread.distances == nullptr) return;
  const auto take = [&](ReuseDistances& distances, uint64_t first_address, std::span<const uint32_t> far_lines, uint64_t* far) {
    distances.take([&](uint32_t bucket, uint64_t references) {
      for (size_t k = 0; k < far_lines.size(); ++k)
        if (uint64_t{1} << bucket >= far_lines[k]) far[k] += references;
      const auto worth = static_cast<uint64_t>(ReuseDistances::worth(bucket) * static_cast<double>(references));
      if (worth != 0) thread.parts.add(paths.beside_blocks(first_address + bucket), worth);
    });
  };
  take(thread.distances->data, kFirstDistanceAddress, simpoint::kFarData, interval_.far.data());
  take(thread.distances->fetches, kFirstDistanceAddress + ReuseDistances::kBuckets, simpoint::kFarFetches, interval_.far.data() + simpoint::kFarData.size());
}

// As name_new_blocks(), with what settle() has left.
void BlockProfiler::flush_settled(Thread& thread) {
  const auto by_address = [](const BlockCount& a, const BlockCount& b) { return a.address < b.address; };
  std::sort(thread.blocks.begin(), thread.blocks.end(), by_address);
  for (BlockCount& block : thread.blocks) {
    if (block.dimension == 0) block.dimension = dimension_of(thread, place_of(*thread.modules, block.address));
    counts_.add(block.dimension, block.count);
    if (is_code_address(block.address)) interval_.length += block.count;
  }
}

// Dimensions of the blocks that the thread has executed for the first time, in the order of their addresses.
void BlockProfiler::name_new_blocks(Thread& thread) {
  const Process& process = *thread.process;
  thread.dimensions.resize(std::max(thread.dimensions.size(), thread.parts.size()));
  std::vector<std::pair<uint64_t, uint32_t>> met;
  thread.parts.for_each([&](uint32_t block) {
    if (thread.dimensions[block] == 0) met.emplace_back(process.paths.address_of(block), block);
  });
  std::sort(met.begin(), met.end());
  for (const auto& [address, block] : met) thread.dimensions[block] = dimension_of(thread, place_of(process.modules, address));
}

void BlockProfiler::end_interval() {
  entries_.clear();
  interval_.length = interval_.left_out = interval_left_out_;
  for (const auto& thread : counted_) {
    flush(*thread);
    if (thread->ended) thread->parts = SparseCounts(), thread->dimensions = std::vector<uint32_t>();
  }
  std::erase_if(counted_, [](const auto& thread) { return thread->ended; });
  leader_ = ender_ = nullptr;
  left_out_ += std::exchange(interval_left_out_, 0);
  retired_ += interval_.length;
  counts_.take([&](uint32_t dimension, uint64_t instructions) {
    entries_.push_back({dimension, static_cast<double>(instructions)});
  });
  if (!entries_.empty()) on_interval_(interval_, entries_);
  interval_.far = {};
  begun_ = false;
  running_ = 0;
  interval_reported_ = 0;
}

BlockProfiler::Kept BlockProfiler::kept() const {
  Kept kept{counted_.size(), processes_.size(), 0};
  for (const auto& t : counted_)
    kept.words += t->executions.capacity() + t->before.capacity() + t->dimensions.capacity() + t->parts.size();
  for (const auto& [index, p] : processes_) kept.words += p.executions.capacity() + p.last_executions.capacity();
  return kept;
}

simpoint::Profile BlockProfiler::finish(uint64_t instructions) {
  if (begun_) end_interval();
  profile_.instructions = retired_ + interval_left_out_;
  profile_.left_out = left_out_ + interval_left_out_;
  if (instructions > profile_.instructions) {
    profile_.left_out += instructions - profile_.instructions;
    profile_.instructions = instructions;
  }
  profile_.threads = static_cast<uint32_t>(threads_.size());
  std::sort(profile_.modules.begin(), profile_.modules.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return std::move(profile_);
}

}  // namespace simrun::cli
