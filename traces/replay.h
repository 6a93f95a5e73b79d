// A trace into a sink: the same calls, in the same order, that the live run made. The sink is a template argument, so
// that no virtual call stands between a word and a model. It has
//   uint32_t start_thread(uint32_t thread, uint32_t process, uint32_t tid);   in order of first appearance
//   std::optional<uint32_t> run_on(uint32_t thread, uint32_t process, uint32_t core, bool is_new_there);
//       kCore: the thread's new handle; nothing: it stays where it is. May be left out
//   void begin_chunk(const Chunk&);
//   void change_memory(uint32_t process, std::span<const uint64_t> event, bool started);
//       of every process, selected or not; `started`: behind the start of what is replayed. May be left out
//   void fetch(uint32_t handle, uint64_t line);
//   void data(uint32_t handle, ReferenceKind kind, uint64_t address, uint32_t bytes);
//   void begin_path(uint32_t handle, uint64_t instructions);   before the references of a path. May be left out
// with what start_thread returned as the handle. With a constant kWantsPc = true, fetch() and data() get the address of
// the instruction too, as their last argument. A sink with a loop of its own over paths has
//   bool take_paths(PathRun&)   takes some of them, or returns false: it wants the references of the next one
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "traces/path_references.h"
#include "traces/reader.h"
#include "traces/references.h"

namespace simrun::traces {

// Of a trace's information; none when it does not say.
std::vector<XsaveComponent> xsave_components(const nlohmann::json& information);

struct ReplayThread {
  uint32_t thread = 0, process = 0, tid = 0;
  uint32_t handle = 0;
  uint64_t last_line = kNoLine;
  uint64_t core = kNoCore;  // as Event::kCore said last
  SegmentBases bases;
  Counts counts;

  static constexpr uint64_t kNoCore = ~uint64_t{0};
};

// Whose references a replay is of; -1: everybody's. The others only make time pass.
struct ReplaySelection {
  int64_t thread = -1, process = -1;
  bool has(const ThreadPart& part) const {
    return (thread < 0 || part.thread == thread) && (process < 0 || part.process == process);
  }
};

// Paths of a thread in a row. Never more than kMostWords, which any path has room in.
struct PathRun {
  static constexpr size_t kMostWords = 32768;
  ReplayThread& thread;           // whose counts and last line are kept up to date
  const uint64_t *at, *const end; // words: `at` goes on by whole paths; there may be events between them
  const uint64_t most;            // instructions: until so many are over, or a path more
  uint64_t instructions = 0;      // of what was taken
  uint64_t paths = 0;
};

template <class Sink>
class Replay {
 public:
  Replay(const Reader& trace, Sink& sink, uint32_t line_bytes, const ReplaySelection& selection = {})
      : trace_(trace), sink_(sink), selection_(selection), xsave_(xsave_components(trace.information())) {
    for (uint32_t p = 0; p < trace.processes(); ++p) tables_.emplace_back(trace.process(p), line_bytes);
  }

  // Replays from the first path that starts at instruction `from` of the recorded order, or later, up to the first that
  // starts at `to` or later. Chunks must come in order.
  void run(const Chunk& chunk, uint64_t from, uint64_t to) {
    if constexpr (kFollowsMemory) sink_.begin_chunk(chunk);
    std::vector<Position> positions;
    for (const ThreadPart& part : chunk.threads)
      positions.push_back({&part, part.words.data(), selection_.has(part), part.items});
    now_ = chunk.first_instruction;
    started_ |= from <= trace_.chunks()[0].section.first_instruction;
    for (const Turn& turn : chunk.turns) {
      if (over_) return;
      run_turn(positions[turn.part], turn.items, from, to);
    }
  }

  bool over() const { return over_; }  // `to` was reached
  // `look`: called when `instructions` have been replayed, behind the path that got there, with how many there are then;
  // returns when it is to be called next.
  void set_look(uint64_t instructions, std::function<uint64_t(uint64_t)> look) {
    look_at_ = instructions;
    look_ = std::move(look);
  }
  uint64_t replayed() const { return replayed_; }  // instructions
  // By thread number.
  const std::map<uint32_t, ReplayThread>& threads() const { return threads_; }

 private:
  static constexpr bool kWantsPc = requires { requires Sink::kWantsPc; };
  static constexpr bool kFollowsMemory = requires(Sink & s, const Chunk& c) { s.begin_chunk(c); };
  struct Position {
    const ThreadPart* part;
    const uint64_t* at;
    bool selected;
    uint64_t left;                            // items
    const uint64_t* end_of_paths = nullptr;  // in this turn, as far as was looked; not beyond `at`: nobody has
    ReplayThread* thread = nullptr;
    SegmentBases bases{};  // while nothing was replayed
    bool moved = false;
  };

  void run_turn(Position& position, uint32_t items, uint64_t from, uint64_t to) {
    if (!position.moved) {
      position.bases = {position.part->fs, position.part->gs};
      position.moved = true;
    }
    PathReferenceTable& table = tables_[position.part->process];
    const uint64_t left = position.left -= items;
    position.end_of_paths = position.at;
    for (uint64_t k = 0; k < items; ++k) {
      const uint64_t* const words = position.at;
      const auto id = static_cast<uint32_t>(*words);
      const bool is_path = id >= kFirstPath;
      if (is_path && !started_) started_ = now_ >= from;
      if (is_path && now_ >= to) {
        over_ = true;
        return;
      }
      if (!is_path && changes_memory(id)) {
        const std::span<const uint64_t> event(words, 1 + (words[0] >> 32));
        if constexpr (kFollowsMemory) sink_.change_memory(position.part->process, event, started_);
        if (static_cast<Event>(id) != Event::kMappingChange) {  // not a word of the program's
          position.at += event.size();
          continue;
        }
      }
      const bool wanted = started_ && position.selected;
      if (wanted && position.thread == nullptr) position.thread = &thread_of(position);
      if (!is_path) {
        event(position, words, wanted, table);
        continue;
      }
      if constexpr (requires(PathRun & run) { sink_.take_paths(run); }) {
        if (wanted) {
          if (const uint64_t taken = take_paths(position, items - k, left, to); taken != 0) {
            k += taken - 1;
            continue;
          }
        }
      }
      const PathReferences& path = table[id];
      now_ += path.counts.instructions;
      position.at += 1 + path.words;
      if (!wanted) continue;
      replay(path, words, *position.thread);
      passed(path.counts.instructions);
    }
  }

  // Of the next `items`, behind which the thread's part has `left`, as many as the sink takes.
  uint64_t take_paths(Position& position, uint64_t items, uint64_t left, uint64_t to) {
    const uint64_t*& end = position.end_of_paths;  // kept: a sink may take none, path after path
    if (end <= position.at)
      end = left == 0 ? position.part->words.data() + position.part->words.size() : end_of_paths(position, items);
    const auto words = std::min(static_cast<size_t>(end - position.at), PathRun::kMostWords);
    PathRun run{*position.thread, position.at, position.at + words, std::min(to - now_, look_at_ - replayed_)};
    if (!sink_.take_paths(run)) return 0;
    position.at = run.at;
    now_ += run.instructions;
    passed(run.instructions);
    return run.paths;
  }

  // Behind the next `items` up to the first event among them, or further than a PathRun.
  const uint64_t* end_of_paths(const Position& position, uint64_t items) const {
    const DescriptorTable& descriptors = tables_[position.part->process].descriptors();
    const uint64_t* at = position.at;
    const uint64_t* const far = at + PathRun::kMostWords;
    for (; items != 0 && at < far && static_cast<uint32_t>(*at) >= kFirstPath; --items)
      at += 1 + descriptors.path(static_cast<uint32_t>(*at)).words;
    return at;
  }

  void passed(uint64_t instructions) {
    replayed_ += instructions;
    if (replayed_ >= look_at_) [[unlikely]]
      look_at_ = look_(replayed_);
  }

  ReplayThread& thread_of(const Position& position) {
    const auto [at, is_new] = threads_.try_emplace(position.part->thread);
    ReplayThread& thread = at->second;
    if (position.part->tid != 0) thread.tid = position.part->tid;  // 0: it has not said yet
    if (is_new) {
      thread.thread = position.part->thread;
      thread.process = position.part->process;
      thread.handle = sink_.start_thread(thread.thread, thread.process, thread.tid);
      if (const auto core = cores_.find(thread.thread); core != cores_.end()) {
        const uint64_t words[] = {core->second, 1};
        change_core(thread, words, std::size(words));
      }
    }
    thread.bases = position.bases;
    return thread;
  }

  void replay(const PathReferences& path, const uint64_t* words, ReplayThread& thread) {
    thread.counts += path.counts;
    size_t at = path.first_line == thread.last_line ? 1 : 0;
    thread.counts.fetch_lines -= at;
    thread.last_line = path.last_line;
    if constexpr (requires { sink_.begin_path(0u, uint64_t{}); }) sink_.begin_path(thread.handle, path.counts.instructions);
    if (path.specials.empty()) [[likely]]
      return plain(path, at, path.plain.size(), words, thread.handle);
    const ReferenceContext context{thread.bases, xsave_};
    for (size_t k = 0; k < path.specials.size(); ++k) {
      const PathReferences::Special& special = path.specials[k];
      plain(path, at, special.position, words, thread.handle);
      at = special.position;
      thread.counts.string_iterations += expand(
          path.operands, special.operand, words, context,
          [&](OperandKind kind, uint64_t address, uint32_t bytes) { data(thread, kind, address, bytes, special.pc); });
      if (is_string_pair(path.operands, special.operand)) ++k;
    }
    plain(path, at, path.plain.size(), words, thread.handle);
  }

  // The plain references [from, to).
  void plain(const PathReferences& path, size_t from, size_t to, const uint64_t* words, uint32_t handle) {
    for (const PlainReference *at = path.plain.data() + from, *end = path.plain.data() + to; at < end; ++at) {
      const uint64_t value = words[at->a] + (words[at->b] << at->shift) + static_cast<uint64_t>(at->disp);
      if constexpr (kWantsPc) {
        const uint64_t pc = path.pcs[static_cast<size_t>(at - path.plain.data())];
        if (at->kind == ReferenceKind::kFetch)
          sink_.fetch(handle, value, pc);
        else
          sink_.data(handle, at->kind, value, at->bytes, pc);
      } else if (at->kind == ReferenceKind::kFetch) {
        sink_.fetch(handle, value);
      } else {
        sink_.data(handle, at->kind, value, at->bytes);
      }
    }
  }

  void data(ReplayThread& thread, OperandKind operand_kind, uint64_t address, uint32_t bytes, uint64_t pc) {
    const ReferenceKind kind = to_reference_kind(operand_kind);
    count(thread.counts, kind);
    if constexpr (kWantsPc)
      sink_.data(thread.handle, kind, address, bytes, pc);
    else
      sink_.data(thread.handle, kind, address, bytes);
  }

  void event(Position& position, const uint64_t* words, bool wanted, PathReferenceTable& table) {
    const uint64_t payload = words[0] >> 32;
    position.at += 1 + payload;
    const auto id = static_cast<Event>(static_cast<uint32_t>(words[0]));
    SegmentBases& bases = position.thread != nullptr ? position.thread->bases : position.bases;
    if (id == Event::kThreadStart && payload >= 3) bases.fs = words[3];
    if (id == Event::kFsBase && payload >= 1) bases.fs = words[1];
    if (id == Event::kGsBase && payload >= 1) bases.gs = words[1];
    if (id == Event::kCut) now_ += words[2];
    if (id == Event::kCore && !wanted && payload >= 2) cores_[position.part->thread] = static_cast<uint32_t>(words[1]);
    if (!wanted) return;
    if (id == Event::kCore) return change_core(*position.thread, words + 1, payload);
    Counts& counts = position.thread->counts;
    counts.words += 1 + payload;
    counts.syscalls += id == Event::kSyscallEnter;
    counts.signals += id == Event::kSignal;
    if (id != Event::kCut) return;
    cut(*position.thread, words + 1, payload, table);
    passed(words[2]);
  }

  // Not a word of the program's: it is not counted.
  void change_core(ReplayThread& thread, const uint64_t* words, uint64_t payload) {
    if (payload < 2 || words[0] >= kMaxCores) throw FormatError("a change of cores without a core");
    // Said again, for readers that begin there. The thread may be waiting, and another one run on that core.
    if (words[1] == 0 && words[0] == thread.core) return;
    thread.core = words[0];
    if constexpr (requires { sink_.run_on(0u, 0u, 0u, false); }) {
      const auto handle = sink_.run_on(thread.thread, thread.process, static_cast<uint32_t>(words[0]), words[1] != 0);
      if (!handle) return;
      thread.handle = *handle;
      if (words[1] != 0) thread.last_line = kNoLine;  // the core's front end has forgotten it
    }
  }

  // words: path, instructions, iterations of the string instruction that was next, then the address words stored.
  void cut(ReplayThread& thread, const uint64_t* words, uint64_t payload, PathReferenceTable& table) {
    const DescriptorTable& descriptors = table.descriptors();
    const auto view = descriptors.superblock(descriptors.path(static_cast<uint32_t>(words[0])).superblock);
    if (words[1] >= view.instructions.size()) throw FormatError("a superblock is cut behind its end");
    std::vector<uint64_t> path_words{words[0]};
    path_words.insert(path_words.end(), words + 3, words + payload);
    ++thread.counts.cuts;
    if (words[1] != 0) {
      PathReferences path =
          make_references(view, words[0], static_cast<uint32_t>(words[1]),
                          static_cast<uint32_t>(std::min<size_t>(path_words.size() - 1, 0x7fff)), table.line_shift());
      path.counts.words = 0;  // they are the event's
      replay(path, path_words.data(), thread);
    }
    if (words[2] != 0) started_string(thread, view, static_cast<uint32_t>(words[1]), words[2], path_words);
  }

  void started_string(ReplayThread& thread, const DescriptorTable::View& view, uint32_t instruction, uint64_t iterations,
                      const std::vector<uint64_t>& words) {
    std::vector<const Operand*> strings;
    for (const Operand& o : view.operands)
      if (o.instruction == instruction && o.form == OperandForm::kRepeatString &&
          (o.word_a == kNoWord || o.word_a < words.size()))
        strings.push_back(&o);
    if (strings.empty()) return;
    const StringRun run = begun_string(*strings[0], iterations);
    thread.counts.string_iterations += run.iterations;
    const uint64_t pc = view.pc + static_cast<uint64_t>(int64_t{view.instructions[instruction].offset});
    for (uint64_t i = 0; i < run.iterations; ++i)
      for (const Operand* o : strings)
        data(thread, o->kind, address_at(*o, words.data(), thread.bases, i * static_cast<uint64_t>(run.step)), o->size, pc);
  }

  const Reader& trace_;
  Sink& sink_;
  ReplaySelection selection_;
  std::vector<XsaveComponent> xsave_;
  std::vector<PathReferenceTable> tables_;
  std::map<uint32_t, ReplayThread> threads_;
  std::map<uint32_t, uint32_t> cores_;  // on which threads were before the start
  uint64_t now_ = 0, replayed_ = 0;
  uint64_t look_at_ = std::numeric_limits<uint64_t>::max();
  std::function<uint64_t(uint64_t)> look_;
  bool started_ = false, over_ = false;
};

}  // namespace simrun::traces
