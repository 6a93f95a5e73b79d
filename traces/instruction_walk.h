// A trace as instructions, in the recorded order: what view, the exporters and users' own tools look at. Slower than a
// replay (some tens of millions of instructions a second), and tells everything: bytes, references, where control went.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "traces/path_references.h"
#include "traces/reader.h"
#include "traces/references.h"

namespace simrun::traces {

struct MemoryReference {
  uint64_t address = 0;
  uint32_t bytes = 0;
  OperandKind kind = OperandKind::kLoad;
  uint8_t flags = 0;  // OperandFlags
};

struct InstructionRecord {
  uint64_t number = 0;            // of all threads, in recorded order
  uint64_t number_in_thread = 0;  // of those recorded
  uint32_t thread = 0, process = 0, tid = 0;
  uint64_t pc = 0;
  uint8_t flags = 0;                 // InstructionFlags
  std::span<const uint8_t> code;     // its bytes; empty: not known
  uint8_t length = 0;
  uint64_t next_pc = 0;              // where the thread goes on, behind a handler if a signal came in between; 0: the recording ends before it
  uint64_t iterations = 0;           // of a repeated string instruction
  uint32_t references_each = 0;      // of its iterations: 1, or the 2 of movs and cmps
  uint64_t references_left_out = 0;  // beyond WalkOptions::most_references
  std::span<const MemoryReference> references;  // in program order; valid until the visitor returns
};

struct EventRecord {
  uint64_t number = 0;  // of the instruction that follows in recorded order
  uint32_t thread = 0, process = 0, tid = 0;
  uint32_t event = 0;
  std::span<const uint64_t> payload;
};

class Visitor {
 public:
  virtual ~Visitor() = default;
  // False: enough.
  virtual bool on_instruction(const InstructionRecord& instruction) = 0;
  // A repeated string instruction that a fault interrupted behind some iterations: they and their references. It has not retired (`number`
  // is that of the next one that does), and comes again for the rest. Behind its event, which is shown first.
  virtual bool on_begun_string(const InstructionRecord& /*instruction*/) { return true; }
  virtual bool on_event(const EventRecord& /*event*/) { return true; }
};

struct WalkOptions {
  uint64_t from = 0, to = ~uint64_t{0};  // instructions, in recorded order
  int64_t thread = -1;                   // -1: all
  int64_t process = -1;                  // -1: all
  uint64_t most_references = 1u << 20;   // of one instruction that are kept; string instructions can make billions
  bool whole_areas = false;              // masked and xsave operands are one reference each (references.h: whole_area)
};

// A place in a trace, from which a visitor is shown one item after the other.
class InstructionCursor {
 public:
  // `trace` must outlive it. Throws TraceError, as next() does.
  InstructionCursor(const Reader& trace, const WalkOptions& options);
  ~InstructionCursor();
  InstructionCursor(const InstructionCursor&) = delete;
  InstructionCursor& operator=(const InstructionCursor&) = delete;

  // The next path or event. False: the end was reached, or the visitor had enough.
  bool next(Visitor& visitor);
  bool had_enough() const;

 private:
  class Walker;
  std::unique_ptr<Walker> walker_;
};

// From `options.from` to its end. Throws TraceError. Returns false when the visitor had enough.
bool walk(const Reader& trace, const WalkOptions& options, Visitor& visitor);

}  // namespace simrun::traces
