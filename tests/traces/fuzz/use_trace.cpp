#include "tests/traces/fuzz/use_trace.h"

#include "base/check.h"
#include "base/user_error.h"
#include "traces/check/check_trace.h"
#include "traces/instruction_walk.h"
#include "traces/reader.h"
#include "traces/region.h"
#include "traces/replay.h"

namespace simrun::traces {

namespace {

// Time for one input is bounded: a string instruction may stand for 2^42 bytes, which is no damage.
constexpr uint64_t kMostReferences = 1 << 16;
struct Enough {};

class Sink {
 public:
  uint32_t start_thread(uint32_t thread, uint32_t, uint32_t) { return thread; }
  void fetch(uint32_t, uint64_t) {}
  void data(uint32_t, ReferenceKind, uint64_t, uint32_t) {
    if (++references_ == kMostReferences) throw Enough{};
  }

 private:
  uint64_t references_ = 0;
};

class Counter final : public Visitor {
 public:
  bool on_instruction(const InstructionRecord& i) override {
    CHECK(i.length >= 1 && i.length <= 15 && (i.code.empty() || i.code.size() == i.length));
    references_ += 1 + i.references.size();
    return references_ < kMostReferences;
  }

 private:
  uint64_t references_ = 0;
};

}  // namespace

void use_trace(const std::string& path) {
  try {
    const Reader trace(path);
    for (size_t k = 0; k < trace.chunks().size(); ++k) {
      const Chunk chunk = trace.read_chunk(k);
      CHECK(chunk.instructions == trace.chunks()[k].section.instructions);
    }
    for (const Module& m : trace.modules()) trace.module_of(m.process, m.start);
    trace.chunk_of(trace.instructions() / 2);
    for (uint32_t p = 0; p < trace.processes(); ++p)
      for (uint32_t s = 0; s < trace.process(p).superblocks(); ++s) find_markers(trace.process(p).superblock(s));
    Counter counter;
    walk(trace, {.from = trace.instructions() / 3, .most_references = 64}, counter);
    Sink sink;
    Replay<Sink> replay(trace, sink, 64);
    try {
      for (size_t k = 0; k < trace.chunks().size(); ++k) replay.run(trace.read_chunk(k), 0, ~uint64_t{0});
    } catch (const Enough&) {
      return;  // check_trace replays the whole, too
    }
    check_trace(trace, [](uint64_t) {});
  } catch (const TraceError&) {
  } catch (const UserError&) {
  } catch (const FormatError&) {  // of replay.run(), to which its callers add the offset
  }
}

}  // namespace simrun::traces
