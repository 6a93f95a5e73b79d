#include "traces/instruction_walk.h"

#include <algorithm>
#include <exception>
#include <future>
#include <map>
#include <optional>

#include "traces/replay.h"

namespace simrun::traces {

namespace {

constexpr uint32_t kFirst = kFirstPath;

// Where the instructions of superblock `index` start in its code.
uint64_t pc_of(const DescriptorTable::View& view, uint32_t instruction) {
  return view.pc + static_cast<uint64_t>(int64_t{view.instructions[instruction].offset});
}

}  // namespace

// The chunk behind the current one is decoded meanwhile; its first instructions also say where this one's last go.
class InstructionCursor::Walker {
 public:
  Walker(const Reader& trace, const WalkOptions& options)
      : trace_(trace), options_(options), xsave_(xsave_components(trace.information())) {
    index_ = reading_ = trace.chunk_of(options.from);
    next_ = read(reading_);
  }
  ~Walker() {
    if (next_.valid()) next_.wait();
  }

  bool next(Visitor& visitor) {
    while (turn_ == chunk_.turns.size() || item_ == chunk_.turns[turn_].items) {
      item_ = 0;
      if (turn_ != chunk_.turns.size()) ++turn_;
      if (turn_ == chunk_.turns.size() && !next_chunk()) return false;
    }
    visitor_ = &visitor;
    ++item_;
    try {
      return item(positions_[chunk_.turns[turn_].part]);
    } catch (const FormatError& error) {
      damage_ = std::make_exception_ptr(
          TraceError(trace_.path(), trace_.chunks()[index_ - 1].section.offset, error.what()));
      turn_ = chunk_.turns.size();  // and no further
      std::rethrow_exception(damage_);
    }
  }
  bool had_enough() const { return enough_; }

 private:
  struct Position {
    const ThreadPart* part;
    const uint64_t* at;
    const uint64_t* end;
    uint64_t number;  // in thread
    SegmentBases bases;
    uint64_t first_pc_in_next_chunk;
  };

  std::future<Chunk> read(size_t index) const {
    if (index >= trace_.chunks().size()) return {};
    return std::async(std::launch::async, [&trace = trace_, index] { return trace.read_chunk(index); });
  }

  // The chunk that was being decoded into `ahead_`, the next one on its way. Damage is reported when it is reached, not before.
  void read_ahead() {
    ahead_.reset();
    if (!next_.valid()) return;
    try {
      ahead_ = next_.get();
    } catch (const TraceError&) {
      damage_ = std::current_exception();
      return;
    }
    next_ = read(++reading_);
  }

  // False: there is none.
  bool next_chunk() {
    if (!started_) read_ahead();
    started_ = true;
    if (damage_) std::rethrow_exception(damage_);
    if (!ahead_) {
      trace_.require_undamaged();
      return false;
    }
    chunk_ = std::move(*ahead_);
    ++index_;
    turn_ = item_ = 0;
    now_ = chunk_.first_instruction;
    read_ahead();
    positions_.clear();
    for (const ThreadPart& part : chunk_.threads)
      positions_.push_back({&part, part.words.data(), part.words.data() + part.words.size(), part.first_instruction,
                            {part.fs, part.gs}, is_shown(part) ? first_pc_behind(part.thread) : 0});
    return true;
  }

  // Of the thread in chunks behind this one. One that is not in the next is looked for in the index.
  uint64_t first_pc_behind(uint32_t thread) {
    if (!ahead_) return 0;
    if (const uint64_t pc = first_pc(*ahead_, thread); pc != 0) return pc;
    const auto has_thread = [&](const ChunkInfo& chunk) {
      return std::any_of(chunk.parts.begin(), chunk.parts.end(), [&](const PartInfo& p) { return p.thread == thread; });
    };
    Later& later = later_[thread];
    if (later.chunk > index_) return later.pc;
    later.pc = 0;
    for (later.chunk = index_ + 1; later.chunk < trace_.chunks().size() && later.pc == 0; ++later.chunk)
      if (has_thread(trace_.chunks()[later.chunk])) later.pc = first_pc(trace_.read_chunk(later.chunk), thread);
    return later.pc;
  }

  uint64_t first_pc(const Chunk& chunk, uint32_t thread) const {
    for (const ThreadPart& part : chunk.threads)
      if (part.thread == thread)
        return next_pc(part.words.data(), part.words.data() + part.words.size(), part.process, 0);
    return 0;
  }

  // Of the first instruction at or behind `at`, or the one that a signal interrupted there.
  uint64_t next_pc(const uint64_t* at, const uint64_t* end, uint32_t process, uint64_t otherwise) const {
    const DescriptorTable& table = trace_.process(process);
    while (at != end) {
      const auto id = static_cast<uint32_t>(*at);
      if (id >= kFirst) return pc_of(table.superblock(table.path(id).superblock), 0);
      const uint64_t payload = *at >> 32;
      if (static_cast<Event>(id) == Event::kSignal && payload >= 2) return at[2];
      if (static_cast<Event>(id) == Event::kCut && payload >= 3 && at[2] != 0)
        return pc_of(table.superblock(table.path(static_cast<uint32_t>(at[1])).superblock), 0);
      at += 1 + payload;
    }
    return otherwise;
  }

  bool item(Position& p) {
    if (now_ >= options_.to) return false;
    const uint64_t* const words = p.at;
    const auto id = static_cast<uint32_t>(*words);
    if (id < kFirst) return event(p, words);
    const DescriptorTable& table = trace_.process(p.part->process);
    const Path& path = table.path(id);
    p.at += 1 + path.words;
    return instructions(p, table.superblock(path.superblock), path.instructions, words, path.words);
  }

  bool instructions(Position& p, const DescriptorTable::View& view, uint32_t count, const uint64_t* words,
                    uint32_t word_count) {
    const uint64_t behind = next_pc(p.at, p.end, p.part->process, p.first_pc_in_next_chunk);
    size_t operand = 0, code = 0;
    const bool shown = is_shown(*p.part);
    for (uint32_t i = 0; i < count; ++i) {
      const StaticInstruction& s = view.instructions[i];
      const size_t first_operand = operand;
      while (operand < view.operands.size() && view.operands[operand].instruction == i) ++operand;
      const bool wanted = shown && now_ >= options_.from && now_ < options_.to;
      if (wanted) {
        InstructionRecord r = record_of(p, view, i);
        if (!view.code.empty()) r.code = view.code.subspan(code, s.length);
        r.next_pc = i + 1 < count ? pc_of(view, i + 1) : behind;
        references_.clear();
        for (size_t k = first_operand; k < operand; ++k) {
          if (!words_fit(view.operands[k], word_count)) throw FormatError("an operand reads words beyond its path");
          add_references(r, view.operands, k, words, p.bases);
          if (is_string_pair(view.operands, k)) ++k;
        }
        r.references = references_;
        if (!visitor_->on_instruction(r)) {
          enough_ = true;
          return false;
        }
      }
      code += s.length;
      ++now_;
      ++p.number;
    }
    return true;
  }

  InstructionRecord record_of(const Position& p, const DescriptorTable::View& view, uint32_t instruction) const {
    InstructionRecord r;
    r.number = now_;
    r.number_in_thread = p.number;
    r.thread = p.part->thread;
    r.process = p.part->process;
    r.tid = p.part->tid;
    r.pc = pc_of(view, instruction);
    r.flags = view.instructions[instruction].flags;
    r.length = view.instructions[instruction].length;
    return r;
  }

  void add_references(InstructionRecord& r, std::span<const Operand> operands, size_t k, const uint64_t* words, const SegmentBases& bases) {
    const Operand& o = operands[k];
    if (o.form == OperandForm::kRepeatString)
      return add_iterations(r, operands.subspan(k, is_string_pair(operands, k) ? 2 : 1), string_run(o, words), words, bases);
    const auto add = [&](OperandKind kind, uint64_t address, uint32_t bytes) { references_.push_back({address, bytes, kind, o.flags}); };
    if (options_.whole_areas && is_one_area(o))
      whole_area(o, words, {bases, xsave_}, add);
    else
      expand(operands, k, words, {bases, xsave_}, add);
  }

  void add_iterations(InstructionRecord& r, std::span<const Operand> operands, StringRun run, const uint64_t* words,
                      const SegmentBases& bases) {
    const uint64_t kept = std::min(run.iterations, options_.most_references / operands.size());
    for (uint64_t i = 0; i < kept; ++i)
      for (const Operand& o : operands)
        references_.push_back({address_at(o, words, bases, i * static_cast<uint64_t>(run.step)), o.size, o.kind, o.flags});
    r.iterations = run.iterations;
    r.references_each = static_cast<uint32_t>(operands.size());
    r.references_left_out = (run.iterations - kept) * operands.size();
  }

  bool is_shown(const ThreadPart& part) const {
    return (options_.thread < 0 || static_cast<uint64_t>(options_.thread) == part.thread) &&
           (options_.process < 0 || static_cast<uint64_t>(options_.process) == part.process);
  }

  bool event(Position& p, const uint64_t* words) {
    const uint64_t payload = words[0] >> 32;
    p.at += 1 + payload;
    const auto id = static_cast<Event>(static_cast<uint32_t>(words[0]));
    if (id == Event::kThreadStart && payload >= 3) p.bases.fs = words[3];
    if (id == Event::kFsBase && payload >= 1) p.bases.fs = words[1];
    if (id == Event::kGsBase && payload >= 1) p.bases.gs = words[1];
    const bool shown = is_shown(*p.part);
    if (shown && now_ >= options_.from) {
      const EventRecord r{now_, p.part->thread, p.part->process, p.part->tid, static_cast<uint32_t>(words[0]),
                          {words + 1, static_cast<size_t>(payload)}};
      if (!visitor_->on_event(r)) {
        enough_ = true;
        return false;
      }
    }
    return id != Event::kCut || cut(p, words + 1, payload);
  }

  bool cut(Position& p, const uint64_t* words, uint64_t payload) {
    const DescriptorTable& table = trace_.process(p.part->process);
    const auto view = table.superblock(table.path(static_cast<uint32_t>(words[0])).superblock);
    if (words[1] > view.instructions.size()) throw FormatError("a superblock is cut behind its end");
    std::vector<uint64_t> path_words{words[0]};
    path_words.insert(path_words.end(), words + 3, words + payload);
    const auto word_count = static_cast<uint32_t>(std::min<size_t>(path_words.size() - 1, 0x7fff));
    if (!instructions(p, view, static_cast<uint32_t>(words[1]), path_words.data(), word_count)) return false;
    return words[2] == 0 || begun_string(p, view, static_cast<uint32_t>(words[1]), words[2], path_words);
  }

  bool begun_string(const Position& p, const DescriptorTable::View& view, uint32_t instruction, uint64_t iterations,
                    const std::vector<uint64_t>& words) {
    if (instruction >= view.instructions.size()) throw FormatError("a superblock is cut behind its end");
    if (!is_shown(*p.part) || now_ < options_.from || now_ >= options_.to) return true;
    size_t first = 0;
    while (first < view.operands.size() && view.operands[first].instruction < instruction) ++first;
    size_t last = first;
    while (last < view.operands.size() && view.operands[last].instruction == instruction &&
           view.operands[last].form == OperandForm::kRepeatString &&
           (view.operands[last].word_a == kNoWord || view.operands[last].word_a < words.size()))
      ++last;
    if (first == last) return true;
    const auto operands = view.operands.subspan(first, last - first);
    references_.clear();
    InstructionRecord r = record_of(p, view, instruction);
    const StringRun run = traces::begun_string(operands[0], iterations);
    add_iterations(r, operands, run, words.data(), p.bases);
    r.next_pc = r.pc;
    if (!view.code.empty()) {
      size_t at = 0;
      for (uint32_t k = 0; k < instruction; ++k) at += view.instructions[k].length;
      r.code = view.code.subspan(at, r.length);
    }
    r.references = references_;
    enough_ = !visitor_->on_begun_string(r);
    return !enough_;
  }

  const Reader& trace_;
  const WalkOptions options_;
  Visitor* visitor_ = nullptr;
  std::vector<XsaveComponent> xsave_;
  std::vector<MemoryReference> references_;
  uint64_t now_ = 0;
  bool enough_ = false, started_ = false;

  Chunk chunk_;
  std::vector<Position> positions_;  // of its parts
  size_t turn_ = 0, item_ = 0;       // the next one
  size_t index_;                     // of the chunk behind chunk_
  std::optional<Chunk> ahead_;
  struct Later {
    size_t chunk = 0;  // behind the one that has it
    uint64_t pc = 0;
  };
  std::map<uint32_t, Later> later_;  // by thread: where it goes on
  std::exception_ptr damage_;  // of the chunk that should be in ahead_
  size_t reading_;             // which chunk next_ is
  std::future<Chunk> next_;
};

InstructionCursor::InstructionCursor(const Reader& trace, const WalkOptions& options)
    : walker_(std::make_unique<Walker>(trace, options)) {}
InstructionCursor::~InstructionCursor() = default;
bool InstructionCursor::next(Visitor& visitor) { return walker_->next(visitor); }
bool InstructionCursor::had_enough() const { return walker_->had_enough(); }

bool walk(const Reader& trace, const WalkOptions& options, Visitor& visitor) {
  InstructionCursor cursor(trace, options);
  while (cursor.next(visitor)) {
  }
  return !cursor.had_enough();
}

}  // namespace simrun::traces
