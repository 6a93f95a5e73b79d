// A chunk to bytes and back (before and after zstd). Both need the shapes of the paths of each process in it.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "traces/bytes.h"
#include "traces/descriptor_table.h"
#include "traces/record.h"

namespace simrun::traces {

// By process. Throws FormatError for processes that are not known.
using ShapesOf = std::function<PathShapes(uint32_t process)>;

// Keeps its memory from chunk to chunk. One thread.
class ChunkEncoder {
 public:
  ChunkEncoder();
  ~ChunkEncoder();
  ChunkEncoder(const ChunkEncoder&) = delete;
  ChunkEncoder& operator=(const ChunkEncoder&) = delete;

  // Valid until the next call.
  const Bytes& encode(const Chunk& chunk, const ShapesOf& shapes);

 private:
  class Part;
  std::unique_ptr<Part> part_;
  Bytes out_;
};

// Checks everything: what it returns holds only paths that exist, complete items, and turns that use up all of them. Throws
// FormatError. `used`: as Reader::read_chunk has it.
Chunk decode_chunk(std::span<const uint8_t> bytes, const ShapesOf& shapes, Chunk used = {});
// Of files up to version 3.
Chunk decode_chunk_3(std::span<const uint8_t> bytes, const ShapesOf& shapes, Chunk used = {});

}  // namespace simrun::traces
