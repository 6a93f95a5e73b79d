// What a profiling run found out beside the vectors themselves: where intervals begin and end, what the blocks are.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace simrun::simpoint {

// A place in a program's code, said so that it is found again wherever the module is loaded.
struct CodePlace {
  uint64_t pc = 0;      // in the run that was profiled; 0: unknown
  std::string module;   // path of the file that is mapped there; empty: none (code made at run time)
  uint64_t offset = 0;  // in that file; pc itself when there is none
  bool operator==(const CodePlace&) const = default;
};

// The moment before the `count`-th execution (from 1) of the instruction at `place`, over all threads of one process.
// count 0: no such moment (the end of the program, or a profile of another tool). With a thread it is that thread's
// `thread_count`-th execution: the same moment, said so that it does not depend on how far the others are.
struct Marker {
  CodePlace place;
  uint64_t count = 0;
  std::string process = {};  // its name (docs/phases.md); empty: the launched one
  std::string thread = {};   // its name; empty: all of the process, which had only one so far
  uint64_t thread_count = 0;
  bool operator==(const Marker&) const = default;
};

// What may be known of how far apart references to one line of 64 bytes are: how many data references, then instruction fetches, have at least so
// many other lines between them and the one before (32 KiB, 512 KiB, 4 MiB), or none before.
inline constexpr std::array<uint32_t, 3> kFarData = {512, 8192, 65536};
inline constexpr std::array<uint32_t, 2> kFarFetches = {512, 8192};
using FarReferences = std::array<uint64_t, kFarData.size() + kFarFetches.size()>;

struct Interval {
  uint64_t start = 0;   // instructions before it, all threads together
  uint64_t length = 0;  // instructions
  Marker begin;         // its end is the begin of the next
  // Executions of the instruction at `begin` by that process in the interval before; 0 also: unknown.
  uint64_t executed_before = 0;
  FarReferences far = {};  // 0 also: unknown
  uint64_t left_out = 0;   // of its instructions, those in no vector; 0 also: unknown
  uint64_t counted() const { return length - left_out; }
  bool operator==(const Interval&) const = default;
};

// The module of a dimension that stands for no block: bytes that the repeated string instructions of a thread went over.
inline constexpr const char* kStrings = "[strings]";
// Likewise: references of a thread by their distance, 2^offset lines (docs/phases.md).
inline constexpr const char* kDistances = "[distances]";
inline constexpr const char* kFetchDistances = "[fetch distances]";   // of instruction fetches

// What a dimension of the vectors stands for. Ids are from 1, in the order of `blocks`.
struct Block {
  CodePlace place;
  uint32_t thread = 0;
  bool operator==(const Block&) const = default;
};

// A file whose code is in the vectors.
struct ProfiledModule {
  std::string path;
  std::string build_id;   // the note that linkers write, in hexadecimal
  bool operator==(const ProfiledModule&) const = default;
};

enum class IntervalKind : uint8_t {
  kFixed,      // of equal length, but for what is left of the block at its end
  kLoop,       // ends at the first entry of a loop header behind the length
  kProcedure,  // ... at the first call
  kBarrier,    // from barrier to barrier
};

struct Profile {
  std::string command;
  std::string ended_by = {};        // what ended the run before its time: `signal 2`; empty: nothing, or unknown
  IntervalKind kind = IntervalKind::kFixed;
  uint64_t interval_length = 0;     // asked for; 0: unknown
  uint64_t instructions = 0;        // of the whole run; 0: unknown
  uint64_t left_out = 0;            // instructions of code that is not counted, or cut off by the end: in no vector, in `instructions`
  uint32_t threads = 0;             // 0: unknown
  std::vector<Interval> intervals;  // empty: unknown (a profile of another tool)
  std::vector<Block> blocks;        // empty: unknown
  std::vector<ProfiledModule> modules = {};   // those that have a build id, by path
  bool operator==(const Profile&) const = default;
};

}  // namespace simrun::simpoint
