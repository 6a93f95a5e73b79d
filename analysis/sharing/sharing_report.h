// The sharing table: lines with coherence misses, with names instead of addresses, as plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/memory/address_space.h"
#include "analysis/sharing/shared_line.h"

namespace simrun::analysis {

// The object that bytes belong to.
struct DataName {
  std::string
      object;  // "counters", "heap block of 64 bytes allocated at make (list.c:12)", "stack of thread 1", "0x7f.."
  std::string member;         // "[3].hits", or empty
  std::string declared;       // "file.c:7", or empty
  // Of the bytes in the object: from its first byte; of a stack from its upper end and of thread-local memory that is
  // no known variable from the thread pointer: negative is below; of unknown memory the address.
  int64_t offset = 0;
  uint64_t size = 0;          // of the object, 0: unknown
  int64_t part = 0;           // where the member starts in the object (= offset when there is none)
  uint64_t part_size = 0;     // of the member, 0: unknown
  uint64_t element_size = 0;  // of the array that the member is an element of, 0: none
  PlaceKind kind = PlaceKind::kUnknown;
  uint32_t block = 0;                     // kHeap, kMapping: which one
  std::vector<std::string> allocated_by;  // callers of the allocator, the innermost first: "make (list.c:12)"
};

struct SharingUse {
  uint32_t thread = 0;
  uint32_t offset = 0, bytes = 0;  // in the line
  DataName data;
  std::vector<SourceFrame> frames;  // of the code, inlined functions first; empty: unknown
  std::string module;
  std::vector<uint64_t> pcs;
  uint64_t reads = 0, writes = 0, prefetches = 0, fetches = 0, false_misses = 0, true_misses = 0, upgrades = 0, transfers = 0;
};

enum class Verdict : uint8_t { kFalseSharing, kTrueSharing, kMixed, kNoMisses };

struct SharingLine {
  uint64_t address = 0;
  Verdict verdict = Verdict::kNoMisses;
  uint64_t false_misses = 0, true_misses = 0, upgrades = 0, transfers = 0;
  uint64_t stall_cycles = 0;
  std::vector<uint32_t> threads;
  std::vector<SharingUse> uses;  // by offset, then thread
  std::string fix;               // one sentence
};

struct UseTotals {
  uint64_t accesses = 0, moves = 0;
};
UseTotals totals_of(const SharingLine& line);
// Rows that the table shows: with a hundredth of the line's accesses, or of its misses and upgrades.
bool matters(const SharingUse& use, const UseTotals& all);

// Fewer misses of a line are not worth a change: starts and ends of threads make as many.
inline constexpr uint64_t kWorthALook = 10;

struct SharingReport {
  uint32_t line_bytes = 64;
  uint64_t lines = 0;  // with coherence misses
  uint64_t false_misses = 0, true_misses = 0, upgrades = 0, transfers = 0;
  uint64_t stall_cycles = 0;
  std::vector<SharingLine> top;  // by misses
};

// `top`: how many lines to resolve. Reads symbols of the modules that they concern.
SharingReport make_report(std::vector<SharedLine> lines, uint32_t line_bytes, size_t top);

// Lines with at least so many misses.
std::string text_of(const SharingReport& report, uint64_t least_misses = kWorthALook);

// "counters[3].hits", "gd+40", "tls[0] of thread 1", "stack of thread 0 -56".
std::string name_of(const DataName& data);

// "file.c:12" with only the last part of the path; empty when unknown.
std::string short_source(const SourceFrame& frame);

}  // namespace simrun::analysis
