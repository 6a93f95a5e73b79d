#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "traces/chunk_codec.h"
#include "traces/prediction.h"

namespace simrun::traces {

namespace {

// A column that is written through a pointer: its place was made before, and is used again for the next part. What is not
// written of it costs nothing.
class Column {
 public:
  // Room for `bytes` and the up to 16 that one write may touch behind them.
  uint8_t* start(size_t bytes) {
    if (bytes + kSlack > capacity_) {
      capacity_ = bytes + bytes / 4 + kSlack;
      data_ = std::make_unique_for_overwrite<uint8_t[]>(capacity_);
    }
    return data_.get();
  }
  void end(const uint8_t* at) { size_ = static_cast<size_t>(at - data_.get()); }
  std::span<const uint8_t> bytes() const { return {data_.get(), size_}; }

 private:
  static constexpr size_t kSlack = 16;
  std::unique_ptr<uint8_t[]> data_;
  size_t capacity_ = 0, size_ = 0;
};

uint8_t* put_varint(uint8_t* at, uint64_t value) {
  while (value >= 0x80) {
    *at++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *at++ = static_cast<uint8_t>(value);
  return at;
}

}  // namespace

// The columns of one thread at a time. Each kind of data by itself: zstd finds more in them so.
//
// Everything that changes with each word is a local variable of encode(): bytes that are stored may be anything, so a member
// would be written and read again around each of them (encoding took 1.5 times as long; bench/traces).
class ChunkEncoder::Part {
 public:
  void write(const ThreadPart& part, const PathShapes& shapes, Bytes& out) {
    encode(part, shapes);
    ByteWriter head;
    head.varint(part.thread);
    head.varint(part.process);
    head.varint(part.tid);
    head.varint(part.fs);
    head.varint(part.gs);
    head.varint(part.first_instruction);
    head.varint(path_count_);
    head.varint(event_count_);
    head.varint(part.words.size());
    head.varint(shapes.path_count);
    head.varint(shapes.slot_count);
    append(out, head.bytes());
    for (const Column* column : {&path_runs_, &path_codes_, &path_ids_, &word_runs_, &word_codes_, &word_residues_}) {
      ByteWriter size;
      size.varint(column->bytes().size());
      append(out, size.bytes());
      append(out, column->bytes());
    }
    ByteWriter events;
    events.column(events_.bytes());
    append(out, events.bytes());
  }

 private:
  static void append(Bytes& out, std::span<const uint8_t> bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

  // Bounds of the columns: a run takes a byte, and one more for each 128 that it says; a difference of path ids 5, of words 8.
  void encode(const ThreadPart& part, const PathShapes& shapes) {
    const size_t most = part.words.size();
    uint8_t* path_runs = path_runs_.start(2 * most + 16);
    uint8_t* path_codes = path_codes_.start(most);
    uint8_t* path_ids = path_ids_.start(5 * most);
    uint8_t* word_runs = word_runs_.start(2 * most + 16);
    uint8_t* word_codes = word_codes_.start(most);
    uint8_t* residues = word_residues_.start(8 * most);
    events_ = ByteWriter();
    event_count_ = 0;
    paths_.reset(shapes.path_count);
    words_.reset(shapes.slot_count);
    uint64_t path_count = 0, items_before = 0, path_run = 0, word_run = 0;
    int64_t last_miss = 0;
    const uint64_t* at = part.words.data();
    const uint64_t* const end = at + most;
    const PathShape* const path_shapes = shapes.paths.get();
    const uint8_t* const registers = shapes.registers.get();
    while (at != end) {
      const auto id = static_cast<uint32_t>(*at);
      if (id < kFirstPath) {
        at = event(at, path_count - items_before);
        items_before = path_count;
        continue;
      }
      ++path_count;
      if (paths_.first() == id) [[likely]] {
        ++path_run;
      } else {
        path_runs = put_varint(path_runs, path_run);
        path_run = 0;
        const bool second = paths_.second() == id;
        *path_codes++ = second ? 0 : 1;
        if (!second) {
          path_ids = put_varint(path_ids, zigzag(static_cast<int64_t>(id) - last_miss));
          last_miss = id;
        }
      }
      paths_.learn(id);
      const PathShape shape = path_shapes[id];
      ++at;
      for (uint32_t index = shape.first_slot; index != shape.first_slot + shape.words; ++index) {
        const uint64_t value = *at++;
        WordPredictor::Slot& slot = words_.slot(index);
        uint64_t& register_value = words_.register_value(registers[index]);
        const uint64_t a = WordPredictor::by_stride(slot), b = WordPredictor::by_register(slot, register_value);
        bool prefer = WordPredictor::prefers_register(slot);
        if ((prefer ? b : a) == value) [[likely]] {
          ++word_run;
        } else {
          // Code 0: the other prediction was right. Else 1 + 8 * (relative to the register's last value) + bytes - 1, and
          // the zigzag difference in so many bytes. Eight are stored, and the next overwrites what is too much.
          word_runs = put_varint(word_runs, word_run);
          word_run = 0;
          const bool other = (prefer ? a : b) == value;
          const uint64_t from_last = zigzag(static_cast<int64_t>(value - slot.last));
          const uint64_t from_register = zigzag(static_cast<int64_t>(value - register_value));
          const uint64_t residue = std::min(from_last, from_register);
          const auto bytes = static_cast<uint32_t>(std::bit_width(residue | 1) + 7) / 8;
          *word_codes++ = other ? 0 : static_cast<uint8_t>(bytes + (from_register < from_last ? 8 : 0));
          std::memcpy(residues, &residue, 8);
          residues += other ? 0 : bytes;
          prefer ^= other;
        }
        WordPredictor::learn(slot, register_value, value, prefer);
      }
    }
    path_runs_.end(path_runs);
    path_codes_.end(path_codes);
    path_ids_.end(path_ids);
    word_runs_.end(word_runs);
    word_codes_.end(word_codes);
    word_residues_.end(residues);
    path_count_ = path_count;
    CHECK(path_count_ + event_count_ == part.items);
  }

  // Items since the last event, the event, its payload.
  const uint64_t* event(const uint64_t* at, uint64_t items_before) {
    ++event_count_;
    const uint64_t payload = *at >> 32;
    events_.varint(items_before);
    events_.varint(static_cast<uint32_t>(*at));
    events_.varint(payload);
    for (uint64_t k = 0; k < payload; ++k) events_.varint(at[1 + k]);
    return at + 1 + payload;
  }

  PathPredictor paths_{0};
  WordPredictor words_{0};
  uint64_t path_count_ = 0, event_count_ = 0;
  Column path_runs_, path_codes_, path_ids_, word_runs_, word_codes_, word_residues_;
  ByteWriter events_;
};

ChunkEncoder::ChunkEncoder() : part_(std::make_unique<Part>()) {}
ChunkEncoder::~ChunkEncoder() = default;

const Bytes& ChunkEncoder::encode(const Chunk& chunk, const ShapesOf& shapes) {
  ByteWriter head;
  head.varint(chunk.threads.size());
  out_ = head.bytes();
  for (const ThreadPart& part : chunk.threads) {
    const PathShapes s = shapes(part.process);
    part_->write(part, s, out_);
  }
  ByteWriter turns;
  turns.varint(chunk.turns.size());
  for (const Turn& turn : chunk.turns) {
    turns.varint(turn.part);
    turns.varint(turn.items);
  }
  out_.insert(out_.end(), turns.bytes().begin(), turns.bytes().end());
  return out_;
}

Bytes encode_chunk(const Chunk& chunk, const ShapesOf& shapes) { return ChunkEncoder().encode(chunk, shapes); }

}  // namespace simrun::traces
