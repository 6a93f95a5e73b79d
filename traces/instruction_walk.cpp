#include "traces/instruction_walk.h"

#include <algorithm>
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

class Walker {
 public:
  Walker(const Reader& trace, const WalkOptions& options, Visitor& visitor)
      : trace_(trace), options_(options), visitor_(visitor), xsave_(xsave_components(trace.information())) {}

  bool run() {
    const size_t first = trace_.chunk_of(options_.from);
    std::optional<Chunk> next;
    for (size_t at = first; at < trace_.chunks().size(); ++at) {
      Chunk chunk = next ? std::move(*next) : trace_.read_chunk(at);
      next.reset();
      if (at + 1 < trace_.chunks().size()) next = trace_.read_chunk(at + 1);
      try {
        if (!walk_chunk(chunk, next ? &*next : nullptr)) return enough_;
      } catch (const FormatError& error) {
        throw TraceError(trace_.path(), trace_.chunks()[at].section.offset, error.what());
      }
    }
    return true;
  }

 private:
  struct Position {
    const ThreadPart* part;
    const uint64_t* at;
    const uint64_t* end;
    uint64_t number;  // in thread
    SegmentBases bases;
    uint64_t first_pc_in_next_chunk;
  };

  // False: the end was reached, or the visitor had enough (then enough_ is false).
  bool walk_chunk(const Chunk& chunk, const Chunk* next) {
    std::vector<Position> positions;
    for (const ThreadPart& part : chunk.threads)
      positions.push_back({&part, part.words.data(), part.words.data() + part.words.size(), part.first_instruction,
                           {part.fs, part.gs}, next ? first_pc(*next, part.thread) : 0});
    now_ = chunk.first_instruction;
    for (const Turn& turn : chunk.turns)
      for (uint32_t k = 0; k < turn.items; ++k)
        if (!item(positions[turn.part])) return false;
    return true;
  }

  uint64_t first_pc(const Chunk& chunk, uint32_t thread) const {
    for (const ThreadPart& part : chunk.threads)
      if (part.thread == thread)
        return next_pc(part.words.data(), part.words.data() + part.words.size(), part.process, 0);
    return 0;
  }

  // Of the first instruction at or behind `at`.
  uint64_t next_pc(const uint64_t* at, const uint64_t* end, uint32_t process, uint64_t otherwise) const {
    const DescriptorTable& table = trace_.process(process);
    while (at != end) {
      const auto id = static_cast<uint32_t>(*at);
      if (id >= kFirst) return pc_of(table.superblock(table.path(id).superblock), 0);
      const uint64_t payload = *at >> 32;
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
    const bool shown = options_.thread < 0 || static_cast<uint64_t>(options_.thread) == p.part->thread;
    for (uint32_t i = 0; i < count; ++i) {
      const StaticInstruction& s = view.instructions[i];
      const size_t first_operand = operand;
      while (operand < view.operands.size() && view.operands[operand].instruction == i) ++operand;
      const bool wanted = shown && now_ >= options_.from && now_ < options_.to;
      if (wanted) {
        InstructionRecord r;
        r.number = now_;
        r.number_in_thread = p.number;
        r.thread = p.part->thread;
        r.process = p.part->process;
        r.tid = p.part->tid;
        r.pc = pc_of(view, i);
        r.flags = s.flags;
        r.length = s.length;
        if (!view.code.empty()) r.code = view.code.subspan(code, s.length);
        r.next_pc = i + 1 < count ? pc_of(view, i + 1) : behind;
        references_.clear();
        for (size_t k = first_operand; k < operand; ++k) {
          if (!words_fit(view.operands[k], word_count)) throw FormatError("an operand reads words beyond its path");
          r.iterations = std::max(r.iterations, add_references(view.operands, k, words, p.bases));
          if (is_string_pair(view.operands, k)) ++k;
        }
        r.references = references_;
        if (!visitor_.on_instruction(r)) {
          enough_ = false;
          return false;
        }
      }
      code += s.length;
      ++now_;
      ++p.number;
    }
    return true;
  }

  uint64_t add_references(std::span<const Operand> operands, size_t k, const uint64_t* words, const SegmentBases& bases) {
    const Operand& o = operands[k];
    if (o.form == OperandForm::kRepeatString) {
      const StringRun run = string_run(o, words);
      const size_t count = is_string_pair(operands, k) ? 2 : 1;
      const uint64_t kept = std::min(run.iterations, options_.most_references / count);
      for (uint64_t i = 0; i < kept; ++i)
        for (size_t j = 0; j < count; ++j)
          references_.push_back({address_at(operands[k + j], words, bases, i * static_cast<uint64_t>(run.step)),
                                 operands[k + j].size, operands[k + j].kind, operands[k + j].flags});
      return run.iterations;
    }
    expand(operands, k, words, {bases, xsave_}, [&](OperandKind kind, uint64_t address, uint32_t bytes) {
      references_.push_back({address, bytes, kind, o.flags});
    });
    return 0;
  }

  bool event(Position& p, const uint64_t* words) {
    const uint64_t payload = words[0] >> 32;
    p.at += 1 + payload;
    const auto id = static_cast<Event>(static_cast<uint32_t>(words[0]));
    if (id == Event::kThreadStart && payload >= 3) p.bases.fs = words[3];
    if (id == Event::kFsBase && payload >= 1) p.bases.fs = words[1];
    if (id == Event::kGsBase && payload >= 1) p.bases.gs = words[1];
    const bool shown = options_.thread < 0 || static_cast<uint64_t>(options_.thread) == p.part->thread;
    if (shown && now_ >= options_.from) {
      const EventRecord r{now_, p.part->thread, p.part->process, p.part->tid, static_cast<uint32_t>(words[0]),
                          {words + 1, static_cast<size_t>(payload)}};
      if (!visitor_.on_event(r)) {
        enough_ = false;
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
    return instructions(p, view, static_cast<uint32_t>(words[1]), path_words.data(),
                        static_cast<uint32_t>(std::min<size_t>(path_words.size() - 1, 0x7fff)));
  }

  const Reader& trace_;
  const WalkOptions& options_;
  Visitor& visitor_;
  std::vector<XsaveComponent> xsave_;
  std::vector<MemoryReference> references_;
  uint64_t now_ = 0;
  bool enough_ = true;
};

}  // namespace

bool walk(const Reader& trace, const WalkOptions& options, Visitor& visitor) {
  return Walker(trace, options, visitor).run();
}

}  // namespace simrun::traces
