// Which part of an execution to record: from one bound to another, each an instruction count, the n-th execution of an
// instruction (module and offset, or a function), or a marker in the program. Bounds lie between paths: a region starts with the
// path that reaches its start and ends before the path that reaches its end, at most one superblock off.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "traces/descriptor_table.h"
#include "traces/record.h"

namespace simrun::traces {

struct RegionBound {
  enum class Kind { kNone, kInstructions, kOffset, kFunction, kMarker };
  Kind kind = Kind::kNone;
  uint64_t count = 1;  // instructions (all threads), or which execution
  std::string name;    // of the module or the function
  uint64_t offset = 0;  // kOffset: in the file of the module
  uint32_t marker = 0;
  std::string text;  // as given
};

// "1000000", "2.5M", "main", "main:3" (third call), "libm.so.6+0x1234:10", "marker:7". Throws UserError (2).
RegionBound parse_region_bound(const std::string& text);

class RegionTracker {
 public:
  // Addresses in the process of a function's first instruction; empty: not in this module.
  using FindFunction = std::function<std::vector<uint64_t>(const Module& module, const std::string& function)>;

  RegionTracker(RegionBound from, RegionBound to, FindFunction find_function);

  void add_module(const Module& module);
  // The paths of a process have other numbers from now on, in another table.
  void forget_paths(uint32_t process);
  // `path` is about to be executed. True: it belongs to the region.
  bool step(uint32_t thread, uint32_t process, const DescriptorTable& table, uint32_t path, uint32_t instructions) {
    if (path >= marks_of(process).size()) [[unlikely]]
      mark(process, table);
    if ((*marks_)[path] != 0) [[unlikely]]
      meet(thread, table, path);
    look_at_counts();
    now_ += instructions;
    return state_ == State::kInside;
  }

  // While no code and no marker is waited for, step() is not needed: paths that begin before until_bound() more instructions do
  // so where the region is now, when look_at_counts() has been called before and advance() is called behind them.
  bool waits_for_code() const {
    if (state_ == State::kAfter) return false;
    if (from_.kind == RegionBound::Kind::kMarker || to_.kind == RegionBound::Kind::kMarker) return true;  // numbers come before marks
    return is_code(state_ == State::kBefore ? from_ : to_);
  }
  void look_at_counts() {
    if (state_ == State::kBefore && from_.kind == RegionBound::Kind::kInstructions && now_ >= from_.count) start();
    if (state_ == State::kInside && to_.kind == RegionBound::Kind::kInstructions && now_ >= to_.count) stop();
  }
  uint64_t until_bound() const {
    const RegionBound& next = state_ == State::kBefore ? from_ : to_;
    const bool is_ahead = state_ != State::kAfter && next.kind == RegionBound::Kind::kInstructions && next.count > now_;
    return is_ahead ? next.count - now_ : std::numeric_limits<uint64_t>::max();
  }

  // Instructions retired without step().
  void advance(uint64_t instructions) { now_ += instructions; }
  uint64_t now() const { return now_; }

  bool inside() const { return state_ == State::kInside; }
  bool over() const { return state_ == State::kAfter; }
  uint64_t started_at() const { return started_at_; }  // instructions of all threads before it
  uint64_t stopped_at() const { return state_ == State::kAfter ? stopped_at_ : now_; }
  // A bound that names code that no module has; empty: none.
  std::string unknown() const;
  // A module of that one's name has been there, but no code at its offset.
  bool knows_module_of_unknown() const { return from_watch_.empty() && is_code(from_) ? from_is_named_ : to_is_named_; }

 private:
  enum class State { kBefore, kInside, kAfter };
  enum Mark : uint8_t { kHasFrom = 1, kHasTo = 2, kHasMarker = 4, kEndsWithNumber = 8 };
  struct Watch {
    uint32_t process;
    uint64_t address;
  };

  static bool is_code(const RegionBound& bound) {
    return bound.kind == RegionBound::Kind::kOffset || bound.kind == RegionBound::Kind::kFunction;
  }
  std::vector<uint8_t>& marks_of(uint32_t process) {
    if (process != last_process_) [[unlikely]]
      select(process);
    return *marks_;
  }
  void select(uint32_t process);
  void mark(uint32_t process, const DescriptorTable& table);
  uint8_t mark_of(uint32_t process, const DescriptorTable& table, uint32_t path) const;
  void meet(uint32_t thread, const DescriptorTable& table, uint32_t path);
  void reach(uint8_t which, uint64_t times);
  void start();
  void stop();

  RegionBound from_, to_;
  FindFunction find_function_;
  State state_ = State::kBefore;
  uint64_t now_ = 0, started_at_ = 0, stopped_at_ = 0;
  uint64_t from_met_ = 0, to_met_ = 0;
  std::vector<Watch> from_watch_, to_watch_;
  bool from_is_named_ = false, to_is_named_ = false;  // modules of the bounds' names have been there
  std::vector<std::vector<uint8_t>> by_process_;  // marks by path
  std::vector<uint8_t>* marks_ = nullptr;
  uint32_t last_process_ = ~0u;
  std::vector<uint32_t> numbers_;  // by thread: what its last `mov ebx, N` said, when that ended a superblock
};

// The SSC mark: `mov ebx, N` and then the bytes 0x64 0x67 0x90. simrun.h makes the same.
struct Marker {
  uint32_t instruction;  // index in the superblock of the mark itself
  bool has_number;
  uint32_t number;
};
std::vector<Marker> find_markers(const DescriptorTable::View& superblock);

}  // namespace simrun::traces
