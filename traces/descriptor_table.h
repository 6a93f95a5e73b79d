// The superblocks and paths of one process, appended while a recording goes on, and what encoding and decoding need to know
// of them in arrays that do not move: an encoder in another thread works on a snapshot while the table grows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "traces/bytes.h"
#include "traces/record.h"

namespace simrun::traces {

// Grows by copying into a larger array; snapshots keep the old one alive. One writer; entries below a snapshot's size
// never change.
template <class T>
class StableArray {
 public:
  void push_back(const T& value) {
    if (size_ == capacity_) grow();
    data_[size_++] = value;
  }
  size_t size() const { return size_; }
  const T& operator[](size_t index) const { return data_[index]; }
  std::shared_ptr<const T[]> data() const { return data_; }

 private:
  void grow() {
    capacity_ = capacity_ == 0 ? 1024 : 2 * capacity_;
    std::shared_ptr<T[]> larger(new T[capacity_]);
    for (size_t i = 0; i < size_; ++i) larger[i] = data_[i];
    data_ = std::move(larger);
  }

  std::shared_ptr<T[]> data_;
  size_t size_ = 0, capacity_ = 0;
};

// What one execution of a path looks like in the stream. Read for each execution: 8 bytes.
struct PathShape {
  uint32_t first_slot;  // of its superblock's address words: paths of one superblock share predictions
  uint16_t words;
  uint16_t instructions;
};

struct PathShapes {
  std::shared_ptr<const PathShape[]> paths;    // by id; entries below kFirstPath are empty
  std::shared_ptr<const uint8_t[]> registers;  // by slot
  uint32_t path_count = 0;
  uint32_t slot_count = 0;
};

// All words that the operand reads are among the first `words` address words (which are numbered from 1).
bool words_fit(const Operand& operand, uint32_t words);

class DescriptorTable {
 public:
  DescriptorTable();

  // Returns its index. Throws FormatError when the description does not hold together.
  uint32_t add_superblock(const Superblock& superblock);
  // Returns its id. The superblock must be there.
  uint32_t add_path(const Path& path);

  uint32_t superblocks() const { return static_cast<uint32_t>(superblocks_.size()); }
  uint32_t paths() const { return static_cast<uint32_t>(paths_.size()); }  // ids are below this
  bool is_path(uint64_t word) const { return word >= kFirstPath && word < paths_.size(); }

  const Path& path(uint32_t id) const { return paths_[id]; }
  struct View {
    uint64_t pc;
    std::span<const StaticInstruction> instructions;
    std::span<const uint8_t> code;
    std::span<const Operand> operands;
  };
  View superblock(uint32_t index) const;

  PathShapes shapes() const;

  // The superblocks and paths from the given ones on, as a section's contents; read() appends what write() wrote and checks
  // that it continues this table.
  Bytes write(uint32_t first_superblock, uint32_t first_path) const;
  void read(ByteReader& from);

 private:
  struct Entry {
    uint64_t pc;
    uint64_t first_instruction, first_code, first_operand;
    uint32_t code_bytes;
    uint32_t first_slot;
    uint16_t instructions, operands, words;
  };
  void write_superblock(ByteWriter& out, const Entry& entry) const;
  Superblock read_superblock(ByteReader& from, uint64_t previous_pc) const;

  std::vector<Entry> superblocks_;
  std::vector<Path> paths_;
  std::vector<StaticInstruction> instructions_;
  std::vector<uint8_t> code_;
  std::vector<Operand> operands_;
  StableArray<PathShape> shapes_;
  StableArray<uint8_t> registers_;
};

}  // namespace simrun::traces
