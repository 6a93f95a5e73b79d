// What the paths of one process execute, worked out once per path: basic blocks for vectors, addresses for markers.
//
// A basic block is named by the control transfer that ends it: from any instruction, straight-line code leads to one
// and the same, wherever the engine began or cut a superblock. (Code that is entered in its middle is the same block.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "instr/channel/path_table.h"

namespace simrun::cli {

struct BlockPiece {
  uint64_t block = 0;         // address of the transfer that ends it; see `resolved`
  uint32_t instructions = 0;  // of it in this path
  bool resolved = true;       // false: the path ends before, and `block` is the address of the next instruction
  uint32_t index = 0;         // of the block, when it is resolved (PathBlockTable)
};

// What a function does to the threads of a program.
enum class Synchronisation : uint8_t {
  kNone,
  kFork,  // begins a parallel region
  kWait,  // a barrier: nobody leaves it before all have come
};

struct PathBlocks {
  uint64_t first_pc = 0;
  uint64_t lowest_pc = 0, highest_pc = 0;
  uint32_t instructions = 0;                                 // 0: not learnt
  bool left_out = false;                                     // not counted
  bool of_runtime = false;                                   // of a module that has barriers
  Synchronisation synchronisation = Synchronisation::kNone;  // of the function that starts here
  std::vector<BlockPiece> pieces;
  std::vector<uint64_t> addresses;  // of its instructions: the path table ends with its process
};

// Where straight-line code leads: to the transfer that ends the block, or (not `final`) to an address that was not
// translated yet. By instruction, of which a large program has a million, so in one array: a map of nodes was a tenth
// of a profile of povray.
class CodeLinks {
 public:
  struct Link {
    uint64_t to = 0;
    bool final = false;
  };
  CodeLinks() : entries_(size_t{1} << 10) {}
  const Link* find(uint64_t pc) const {
    const Entry& entry = entries_[place_of(pc)];
    return entry.used ? &entry.link : nullptr;
  }
  // A new one leads to 0.
  Link& operator[](uint64_t pc) {
    if (2 * used_ >= entries_.size()) grow();
    Entry& entry = entries_[place_of(pc)];
    if (!entry.used) entry = {pc, {}, true}, ++used_;
    return entry.link;
  }

 private:
  struct Entry {
    uint64_t pc = 0;
    Link link;
    bool used = false;
  };
  // Of the entry, or of the empty one where it belongs. The size is a power of two.
  size_t place_of(uint64_t pc) const {
    size_t at = (pc * 0x9e3779b97f4a7c15u) >> 24 & (entries_.size() - 1);
    while (entries_[at].used && entries_[at].pc != pc) at = (at + 1) & (entries_.size() - 1);
    return at;
  }
  void grow();

  std::vector<Entry> entries_;
  size_t used_ = 0;
};

class PathBlockTable {
 public:
  // nullptr: not learnt.
  PathBlocks* find(uint64_t word) {
    return word < paths_.size() && paths_[word].instructions != 0 ? &paths_[word] : nullptr;
  }
  const PathBlocks& operator[](uint64_t word) const { return paths_[word]; }  // learnt
  PathBlocks& learn(uint64_t word, const channel::PathCode& code);

  // Blocks have numbers, from 0 as they are met, so that what is counted of them is in arrays and not in maps
  // by address (a twentieth of the time of a profile of povray with 1 million instructions in an interval).
  uint32_t index_of(uint64_t block);
  uint64_t address_of(uint32_t index) const { return blocks_[index]; }

  // The number of the block of a piece, and of the instruction `i` of a path, with what is known now.
  uint32_t block_of(BlockPiece& piece) {
    if (!piece.resolved) [[unlikely]]
      resolve(piece);
    return piece.index;
  }
  uint32_t block_of(const channel::PathCode& code, uint32_t i);
  // Words of the learnt paths that may execute the instruction at `pc`: all that do, and others.
  std::vector<uint32_t> paths_around(uint64_t pc) const;

 private:
  std::vector<PathBlocks> paths_;  // by word
  using Link = CodeLinks::Link;
  Link follow(uint64_t pc) const;
  void resolve(BlockPiece& piece);

  CodeLinks links_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> pages_;
  std::unordered_map<uint64_t, uint32_t> index_of_block_;
  std::vector<uint64_t> blocks_;  // by number
};

// How often the first `instructions` of a path execute the instruction at `pc`.
uint32_t occurrences(const channel::PathCode& code, uint64_t pc, uint32_t instructions);

}  // namespace simrun::cli
