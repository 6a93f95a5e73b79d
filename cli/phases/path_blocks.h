// What the paths of one process execute, worked out once per path: basic blocks for vectors, addresses for markers.
//
// A basic block is named by the control transfer that ends it: from any instruction, straight-line code leads to one
// and the same, wherever the engine began or cut a superblock. (Code that is entered in its middle is the same block.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/phases/address_table.h"
#include "instr/channel/path_table.h"

namespace simrun::cli {

using PathInstructions = std::span<const channel::PathInstruction>;

// In the place of a block's address: no code is there.
inline constexpr uint64_t kStringsAddress = ~uint64_t{1};   // not the place of none in AddressTable
inline constexpr uint64_t kFirstDistanceAddress = ~uint64_t{127};
inline constexpr bool is_code_address(uint64_t address) { return address < kFirstDistanceAddress; }

// What a path executes of one basic block.
struct BlockPiece {
  uint32_t block = 0;              // its number; open: of an address (PathBlockTable::open_)
  uint32_t instructions : 31 = 0;  // of it in this path
  uint32_t open : 1 = 0;  // the path ends before the block does, in code of which the rest was not translated yet
};

// What a function does to the threads of a program.
enum class Synchronisation : uint8_t {
  kNone,
  kFork,  // begins a parallel region
  kWait,  // a barrier: nobody leaves it before all have come
};

// Looked at for each path that runs: a quarter of a cache line.
struct PathBlocks {
  uint32_t instructions = 0;  // 0: not learnt
  uint32_t first_piece = 0;
  uint16_t pieces = 0;
  bool left_out = false;                                     // not counted
  bool of_runtime = false;                                   // of a module that has barriers
  Synchronisation synchronisation = Synchronisation::kNone;  // of the function that starts here
  bool repeats = false;                                      // has a repeated string instruction
  bool plain = false;                                        // nothing of the above: counted, and that is all
};
static_assert(sizeof(PathBlocks) == 16);

class PathBlockTable {
 public:
  // nullptr: not learnt.
  PathBlocks* find(uint64_t word) {
    return word < paths_.size() && paths_[word].instructions != 0 ? &paths_[word] : nullptr;
  }
  PathBlocks& learn(uint64_t word, PathInstructions instructions);
  // Of its instructions, in their order: the path table ends with its process. `word` is learnt.
  std::span<const uint64_t> addresses(uint64_t word) const {
    return {addresses_.data() + places_[word].first_address, paths_[word].instructions};
  }

  // Blocks have numbers, from 0 as they are met, so that what is counted of them is in arrays and not in maps
  // by address (a twentieth of the time of a profile of povray with 1 million instructions in an interval).
  uint64_t address_of(uint32_t block) const { return blocks_[block]; }

  // f(number of a block, instructions of it), for each piece of a learnt path, with what is known now.
  template <class F>
  void for_each_block(const PathBlocks& path, F f) {
    for (uint32_t k = path.first_piece; k < path.first_piece + path.pieces; ++k) {
      const uint32_t block = pieces_[k].open ? close(pieces_[k]) : pieces_[k].block;
      f(block, pieces_[k].instructions);
    }
  }
  // The number of what stands beside the blocks, at an address where no code is.
  uint32_t beside_blocks(uint64_t address) { return number_of(address); }
  // The number of the block of instruction `i` of a path.
  uint32_t block_of(PathInstructions code, uint32_t i);
  // Words of the learnt paths that may execute the instruction at `pc`: all that do, and others.
  std::vector<uint32_t> paths_around(uint64_t pc) const;

 private:
  // Where straight-line code leads: to the transfer that ends the block, or (not `final`) to an address that was not
  // translated yet.
  struct Link {
    uint64_t to = 0;
    bool final = false;
  };
  struct PathPlace {
    uint64_t lowest_pc = 0, highest_pc = 0;
    size_t first_address = 0;
  };
  Link follow(uint64_t pc) const;
  void add_piece(const Link& block, uint32_t instructions);
  uint32_t number_of(uint64_t block);
  uint32_t close(BlockPiece& piece);

  std::vector<PathBlocks> paths_;  // by word
  std::vector<PathPlace> places_;  // by word
  std::vector<BlockPiece> pieces_;
  std::vector<uint64_t> open_;       // addresses at which paths end amid a block
  std::vector<uint64_t> addresses_;  // of the instructions of all paths
  AddressTable<Link> links_;
  AddressTable<std::vector<uint32_t>> pages_;  // words of paths, by page number
  AddressTable<uint32_t> number_of_block_;     // 1 more
  std::vector<uint64_t> blocks_;               // by number
};

// How often the first `instructions` of a path execute the instruction at `pc`.
uint32_t occurrences(PathInstructions code, uint64_t pc, uint32_t instructions);

}  // namespace simrun::cli
