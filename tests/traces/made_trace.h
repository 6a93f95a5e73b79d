// Code and streams made at random, every form of operand and several events among them, for tests of everything that writes
// or reads traces.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "traces/record.h"
#include "traces/writer.h"

namespace simrun::traces {

class MadeTrace {
 public:
  // `tiles`: operands of that form, too, which kept files do not know.
  explicit MadeTrace(uint64_t seed, uint32_t superblocks = 40, bool tiles = true);

  // The same code as the process `process` of a writer, or in a table of one's own.
  void describe(DescriptorTable& table) const;
  // Whole paths of one thread; addresses follow each other as in loops, with surprises.
  std::vector<uint64_t> paths(uint32_t count, uint64_t* instructions);
  // An event with its first word; `later`: the number of one of a later version. (Kept files have 200, which means
  // something now: those that are replayed take another.)
  std::vector<uint64_t> event(uint32_t later = 200);

  const std::vector<Superblock>& superblocks() const { return superblocks_; }
  const std::vector<Path>& path_list() const { return paths_; }
  uint64_t number(uint64_t below) { return random_() % below; }

 private:
  Superblock make_superblock(uint64_t pc);
  std::vector<uint64_t> cut();
  Operand make_operand(uint16_t instruction, uint16_t* words);

  std::mt19937_64 random_;
  bool tiles_;
  std::vector<Superblock> superblocks_;
  std::vector<Path> paths_;
  std::vector<uint64_t> bases_;  // of address words
  uint64_t step_ = 0;
};

// A directory of its own, removed at the end.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A trace of `threads` threads and about `chunks` chunks, written to `path`; what went in is returned by thread.
std::vector<std::vector<uint64_t>> write_made_trace(const std::string& path, uint64_t seed, uint32_t threads = 3,
                                                    uint32_t chunks = 4, WriterOptions options = {.workers = 2},
                                                    uint32_t later = 200, bool tiles = true);

}  // namespace simrun::traces
