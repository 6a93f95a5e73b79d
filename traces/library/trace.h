// simrun's traces for your own programs. Installed as <simrun/trace.h>:
//
//   find_package(simrun REQUIRED)
//   target_link_libraries(tool PRIVATE simrun::trace)
//
//   simrun::Trace trace("gzip.trace");
//   for (const simrun::Instruction& i : trace.instructions())
//     for (const simrun::Reference& r : i.references()) ...
//
// Everything throws simrun::Error, whose text names the file, the offset in it and the cause. Damage in the middle of a
// file is reported when it is reached. A Trace may be read by several threads at once, a range by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__GNUC__)
#define SIMRUN_PUBLIC __attribute__((visibility("default")))
#else
#define SIMRUN_PUBLIC
#endif

namespace simrun {

class SIMRUN_PUBLIC Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Kind : std::uint8_t { load, store, read_modify_write, prefetch, flush, non_temporal_load, non_temporal_store };

// One access to memory: `bytes` from the virtual address on.
struct Reference {
  enum Flags : std::uint8_t { locked = 1, stack = 16 };  // a locked instruction; implicit (push, call, ...)
  std::uint64_t address;
  std::uint32_t bytes;
  Kind kind;
  std::uint8_t flags;

  bool reads() const { return kind == Kind::load || kind == Kind::read_modify_write || kind == Kind::non_temporal_load; }
  bool writes() const { return kind == Kind::store || kind == Kind::read_modify_write || kind == Kind::non_temporal_store; }
};

struct Instruction {
  enum Flags : std::uint8_t {
    ends_block = 1,
    conditional = 2,
    call = 4,
    return_ = 8,
    indirect = 16,
    repeats = 32,
    system_call = 64,
    nop = 128,
  };
  std::uint64_t number;            // of all threads, in the order in which the trace is simulated
  std::uint64_t number_in_thread;  // of those in the trace
  std::uint64_t pc;
  std::uint64_t next_pc;     // where the thread goes on, behind a handler if a signal came in between; 0: the trace ends before it
  // Of a `rep` string instruction, which is one instruction; those that it had done when a fault interrupted it are in no instruction.
  std::uint64_t iterations;
  const Reference* first_reference;
  std::uint32_t reference_count;
  std::uint32_t thread, process;
  std::uint8_t flags;
  std::uint8_t length;      // of the code
  std::uint8_t code_known;  // 0: the trace does not have the code (it was imported)
  std::uint8_t code[15];

  // In program order. Of a `rep` string instruction the first 2^20 at most.
  std::span<const Reference> references() const { return {first_reference, reference_count}; }
  bool branches() const { return (flags & ends_block) != 0 && (flags & system_call) == 0; }
  // A conditional one goes elsewhere than to the next instruction in memory; all others are.
  bool taken() const { return branches() && ((flags & conditional) == 0 || (next_pc != 0 && next_pc != pc + length)); }
};

// What is to be read: instructions [from, to) counted over all threads; of one thread or process only, or of all (-1).
struct Part {
  std::uint64_t from = 0, to = ~std::uint64_t{0};
  std::int64_t thread = -1;
  std::int64_t process = -1;
};

struct ThreadInformation {
  std::uint32_t thread, process, tid;
  std::uint64_t instructions;
};

// One image in one process: an exec makes a new one. `parent`: who forked it, or whose image it replaced.
struct ProcessInformation {
  enum class Origin : std::uint8_t { launched, forked, executed };
  std::uint32_t process, parent, pid;
  Origin origin;
  std::string command;
};

// A file of the program's, mapped executable at [start, end); `file_offset` is that of `start`.
struct ModuleInformation {
  std::uint32_t process;
  std::string path, build_id;
  std::uint64_t start, end, file_offset;
};

class Instructions;

class SIMRUN_PUBLIC Trace {
 public:
  explicit Trace(const std::string& path);
  ~Trace();
  Trace(Trace&&) noexcept;
  Trace& operator=(Trace&&) noexcept;

  std::uint64_t instruction_count() const;
  std::vector<ProcessInformation> processes() const;
  std::vector<ThreadInformation> threads() const;
  std::vector<ModuleInformation> modules() const;
  std::string information() const;  // JSON: command, machine, options (docs/trace-format.md)
  std::string summary() const;      // JSON: how it ended, statistics; "null" when the recording was not completed
  // Empty: complete. Else why there is no more; what is there can be read.
  std::string incomplete() const;

  // To be iterated over once. Starts anywhere at the cost of decoding one chunk. The trace must outlive it.
  Instructions instructions(const Part& part = {}) const;

 private:
  friend class Instructions;
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

class SIMRUN_PUBLIC Instructions {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Instruction;
    using difference_type = std::ptrdiff_t;
    using pointer = const Instruction*;
    using reference = const Instruction&;

    const Instruction& operator*() const { return *at_; }
    const Instruction* operator->() const { return at_; }
    Iterator& operator++() {
      if (++at_ == end_) *this = range_->more();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    friend class Instructions;
    Instructions* range_ = nullptr;
    const Instruction* at_ = nullptr;
    const Instruction* end_ = nullptr;
  };

  Instructions(Instructions&&) noexcept;
  ~Instructions();
  Iterator begin() { return more(); }
  Iterator end() const { return {}; }

  // The next `most` instructions or a few more, at once, fewer when they have millions of references; empty at the end.
  // Valid until the next call.
  std::span<const Instruction> next(std::size_t most);

 private:
  friend class Trace;
  Instructions(const Trace& trace, const Part& part);
  Iterator more();

  struct Cursor;
  std::unique_ptr<Cursor> cursor_;
};

}  // namespace simrun
