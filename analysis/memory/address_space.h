// What lies where in one process, kept up with its events: modules, heap blocks, mappings, stacks. Asked for the place
// of an address at the moment of an access. Places stay valid when their block is freed or their module unmapped.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/memory/call_sites.h"
#include "analysis/symbols/module_symbols.h"

namespace simrun::analysis {

enum class PlaceKind : uint8_t {
  kUnknown,  // `id` 0, `offset` is the address
  kModule,   // `id`: index into modules(); `offset`: file address (link time)
  kHeap,     // `id`: index into blocks(); `offset`: from its start
  kMapping,  // likewise: memory that the program mapped itself, anonymous or of a file
  kBreak,    // between the start and the end of the heap, in no block; `offset`: from that start
  kStack,    // `id`: thread; `offset`: below the thread's highest stack address
  kThread,   // `id`: thread; thread-local block or control block; `offset`: below the thread pointer (negative: above
             // it)
};

struct Place {
  PlaceKind kind = PlaceKind::kUnknown;
  uint32_t id = 0;
  uint64_t offset = 0;
  bool operator==(const Place&) const = default;
};

struct Block {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint32_t thread = 0;  // that allocated it
  uint32_t site = 0;    // CallSites
};

class AddressSpace {
 public:
  AddressSpace();

  // --- Events. Ranges are half open.

  // A module takes [start, end); `code_address` in it shows its file from `code_offset` on. Returns its index, or -1
  // when the file cannot be read as a module.
  int map_module(const std::string& path, uint64_t start, uint64_t end, uint64_t code_address, uint64_t code_offset);
  // Other memory, `fixed` at an address that the program chose: within a module it is part of that (its data, its
  // zeroed end).
  void map_memory(uint64_t address, uint64_t bytes, uint32_t thread, uint32_t site, bool fixed);
  void unmap(uint64_t address, uint64_t bytes);
  // The whole of the mapping that was made at `address` (shmdt).
  void unmap_at(uint64_t address);
  void set_break(uint64_t end);  // the first call gives the start
  void allocate(uint64_t address, uint64_t bytes, uint32_t thread, uint32_t site);
  void release(uint64_t address);
  // Whoever had the same thread pointer before is no more.
  void start_thread(uint32_t thread, uint64_t thread_pointer, uint64_t stack_pointer);
  void end_thread(uint32_t thread);
  void set_thread_pointer(uint32_t thread, uint64_t thread_pointer);

  // --- Questions.

  Place place(uint64_t address) const;
  // Only what code can be: modules or nothing. Where nothing is mapped any more, the module that was.
  Place code_place(uint64_t address) const;
  const std::vector<std::shared_ptr<ModuleSymbols>>& modules() const { return modules_; }
  const Block& block(Place place) const {
    return place.kind == PlaceKind::kMapping ? mappings_[place.id] : blocks_[place.id];
  }
  // Addresses of the functions called `names` in the module that is mapped at `address`.
  std::vector<FunctionSymbol> functions_at(uint64_t address, const std::vector<std::string>& names) const;

  // Return addresses (CallSites), and where their calls were when they were first seen: the module may be gone later.
  uint32_t call_site(std::span<const uint64_t> frames);
  const std::vector<uint64_t>& return_addresses(uint32_t site) const { return sites_.frames(site); }
  const std::vector<Place>& calls(uint32_t site) const { return calls_[site]; }

  uint64_t allocations = 0, releases = 0, unknown_releases = 0;

 private:
  struct Range {
    uint64_t end;
    PlaceKind kind;
    uint32_t id;
    uint64_t bias;  // kModule
  };
  struct Thread {
    uint64_t thread_pointer = 0;
    uint64_t stack_pointer = 0;  // the first that was seen
  };
  static bool is_stack(const Range& range, const Thread& thread);
  const Range* range_of(uint64_t address, uint64_t* start) const;
  const Block* live_block(uint64_t address, uint32_t* id) const;
  void insert(uint64_t start, Range range);
  uint64_t thread_local_bytes() const;
  std::optional<Place> thread_memory(uint64_t address, const Range* range, uint64_t start) const;

  CallSites sites_;
  std::vector<std::vector<Place>> calls_{{}};   // by site
  std::vector<std::shared_ptr<ModuleSymbols>> modules_;
  std::map<std::string, uint32_t> module_by_path_;
  std::map<uint64_t, Range> ranges_;            // by start, disjoint
  std::map<uint64_t, Range> unloaded_;          // of modules, by start: the last that began there
  std::map<uint64_t, uint32_t> live_;           // start of block to index
  std::map<uint64_t, uint32_t> late_releases_;  // start of block to number
  std::vector<Block> blocks_, mappings_;
  std::map<uint32_t, Thread> threads_;
  std::optional<uint32_t> first_thread_;  // whose stack is no mapping that the program made
  uint64_t break_start_ = 0, break_end_ = 0;
};

}  // namespace simrun::analysis
