#include "traces/library/trace.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/user_error.h"
#include "traces/instruction_walk.h"
#include "traces/reader.h"
#include "traces/trace_error.h"

namespace simrun {

namespace {

static_assert(static_cast<int>(Kind::non_temporal_store) == static_cast<int>(traces::OperandKind::kNonTemporalStore));
static_assert(static_cast<int>(Reference::stack) == traces::kStack && static_cast<int>(Reference::locked) == traces::kLocked);
static_assert(static_cast<int>(Instruction::nop) == traces::kNop && static_cast<int>(Instruction::repeats) == traces::kRepeats);

template <class F>
auto translating_errors(F&& f) {
  try {
    return f();
  } catch (const traces::TraceError& error) {
    throw Error(error.what());
  } catch (const UserError& error) {
    throw Error(error.what());
  }
}

// Copies what it is shown.
class Batch final : public traces::Visitor {
 public:
  void clear() {
    instructions_.clear();
    references_.clear();
  }
  size_t size() const { return instructions_.size(); }
  size_t references() const { return references_.size(); }
  // Pointers to references are set when none is added any more.
  std::span<const Instruction> finish() {
    const Reference* at = references_.data();
    for (Instruction& i : instructions_) {
      i.first_reference = at;
      at += i.reference_count;
    }
    return instructions_;
  }

  bool on_instruction(const traces::InstructionRecord& from) override {
    Instruction to{};
    to.number = from.number;
    to.number_in_thread = from.number_in_thread;
    to.pc = from.pc;
    to.next_pc = from.next_pc;
    to.iterations = from.iterations;
    to.reference_count = static_cast<uint32_t>(from.references.size());
    to.thread = from.thread;
    to.process = from.process;
    to.flags = from.flags;
    to.length = from.length;
    to.code_known = !from.code.empty();
    std::copy_n(from.code.begin(), std::min(from.code.size(), sizeof to.code), to.code);
    instructions_.push_back(to);
    constexpr uint8_t kPublicFlags = Reference::locked | Reference::stack;
    for (const traces::MemoryReference& r : from.references)
      references_.push_back({r.address, r.bytes, static_cast<Kind>(r.kind), static_cast<uint8_t>(r.flags & kPublicFlags)});
    return true;
  }

 private:
  std::vector<Instruction> instructions_;
  std::vector<Reference> references_;
};

}  // namespace

struct Trace::Contents {
  explicit Contents(const std::string& path) : reader(path) {}
  traces::Reader reader;
};

Trace::Trace(const std::string& path)
    : contents_(translating_errors([&] { return std::make_unique<Contents>(path); })) {}
Trace::~Trace() = default;
Trace::Trace(Trace&&) noexcept = default;
Trace& Trace::operator=(Trace&&) noexcept = default;

uint64_t Trace::instruction_count() const { return contents_->reader.instructions(); }
std::string Trace::information() const {
  return contents_->reader.information().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
std::string Trace::summary() const {
  return contents_->reader.summary().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
std::string Trace::incomplete() const { return contents_->reader.incomplete(); }

std::vector<ProcessInformation> Trace::processes() const {
  static_assert(static_cast<int>(ProcessInformation::Origin::executed) ==
                static_cast<int>(traces::ProcessRecord::Origin::kExecuted));
  std::vector<ProcessInformation> list;
  for (uint32_t p = 0; p < contents_->reader.processes(); ++p) {
    const traces::ProcessRecord& r = contents_->reader.process_record(p);
    list.push_back({p, r.parent, r.pid, static_cast<ProcessInformation::Origin>(r.origin), r.command});
  }
  return list;
}

std::vector<ThreadInformation> Trace::threads() const {
  return translating_errors([&] {
    std::map<uint32_t, ThreadInformation> threads;
    const auto add = [&](uint32_t thread, uint32_t process, uint32_t tid, uint64_t instructions) {
      ThreadInformation& t = threads.try_emplace(thread, ThreadInformation{thread, process, tid, 0}).first->second;
      t.tid = tid;
      t.instructions += instructions;
    };
    const auto& chunks = contents_->reader.chunks();
    for (size_t k = 0; k < chunks.size(); ++k) {
      for (const traces::PartInfo& p : chunks[k].parts) add(p.thread, p.process, p.tid, p.instructions);
      if (!chunks[k].parts.empty()) continue;
      for (const traces::ThreadPart& p : contents_->reader.read_chunk(k).threads)
        add(p.thread, p.process, p.tid, p.instructions);
    }
    std::vector<ThreadInformation> list;
    for (const auto& [index, t] : threads) list.push_back(t);
    return list;
  });
}

std::vector<ModuleInformation> Trace::modules() const {
  std::vector<ModuleInformation> list;
  for (const traces::Module& m : contents_->reader.modules())
    list.push_back({m.process, m.path, m.build_id, m.start, m.end, m.file_offset});
  return list;
}

Instructions Trace::instructions(const Part& part) const { return {*this, part}; }

struct Instructions::Cursor {
  Cursor(const traces::Reader& reader, const Part& part)
      : cursor(reader, {.from = part.from, .to = part.to, .thread = part.thread, .process = part.process}) {}
  traces::InstructionCursor cursor;
  Batch batch;
};

Instructions::Instructions(const Trace& trace, const Part& part)
    : cursor_(translating_errors([&] { return std::make_unique<Cursor>(trace.contents_->reader, part); })) {}
Instructions::Instructions(Instructions&&) noexcept = default;
Instructions::~Instructions() = default;

// What came before damage is given out first; the next call meets the damage again.
std::span<const Instruction> Instructions::next(size_t most) {
  constexpr size_t kMostReferences = 4 << 20;  // 64 MiB; those of one path may come on top
  Batch& batch = cursor_->batch;
  batch.clear();
  try {
    while (batch.size() < most && batch.references() < kMostReferences && cursor_->cursor.next(batch)) {
    }
  } catch (const traces::TraceError& error) {
    if (batch.size() == 0) throw Error(error.what());
  }
  return batch.finish();
}

Instructions::Iterator Instructions::more() {
  constexpr size_t kBatch = 4096;  // fits into a level-2 cache with its references
  const std::span<const Instruction> batch = next(kBatch);
  Iterator iterator;
  if (batch.empty()) return iterator;
  iterator.range_ = this;
  iterator.at_ = batch.data();
  iterator.end_ = batch.data() + batch.size();
  return iterator;
}

}  // namespace simrun
