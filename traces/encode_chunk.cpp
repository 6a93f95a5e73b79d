#include <bit>

#include "base/check.h"
#include "traces/chunk_codec.h"
#include "traces/prediction.h"

namespace simrun::traces {

namespace {

// The columns of one thread. Each kind of data by itself: zstd finds more in them so.
class PartEncoder {
 public:
  PartEncoder(const ThreadPart& part, const PathShapes& shapes)
      : part_(part), shapes_(shapes), paths_(shapes.path_count), words_(shapes.slot_count) {}

  void write(ByteWriter& out) {
    encode();
    out.varint(part_.thread);
    out.varint(part_.process);
    out.varint(part_.tid);
    out.varint(part_.fs);
    out.varint(part_.gs);
    out.varint(part_.first_instruction);
    out.varint(path_count_);
    out.varint(event_count_);
    out.varint(part_.words.size());
    out.varint(shapes_.path_count);
    out.varint(shapes_.slot_count);
    for (const ByteWriter* column : {&path_runs_, &path_codes_, &path_ids_, &word_runs_, &word_codes_, &word_residues_,
                                     &events_})
      out.column(column->bytes());
  }

 private:
  void encode() {
    const uint64_t* at = part_.words.data();
    const uint64_t* const end = at + part_.words.size();
    while (at != end) {
      const auto id = static_cast<uint32_t>(*at);
      if (id < kFirstPath) {
        at = event(at);
        continue;
      }
      const PathShape& shape = shapes_.paths[id];
      path(id);
      for (uint32_t k = 0; k < shape.words; ++k) word(shape.first_slot + k, at[1 + k]);
      at += 1 + shape.words;
    }
    CHECK(path_count_ + event_count_ == part_.items);
  }

  void path(uint32_t id) {
    ++path_count_;
    ++items_since_event_;
    if (paths_.first() == id) [[likely]] {
      ++path_run_;
    } else {
      path_runs_.varint(path_run_);
      path_run_ = 0;
      const bool second = paths_.second() == id;
      path_codes_.byte(second ? 0 : 1);
      if (!second) path_ids_.signed_varint(static_cast<int64_t>(id) - last_miss_);
      if (!second) last_miss_ = id;
    }
    paths_.learn(id);
  }

  void word(uint32_t index, uint64_t value) {
    WordPredictor::Slot& slot = words_.slot(index);
    uint64_t& register_value = words_.register_value(shapes_.registers[index]);
    const uint64_t a = WordPredictor::by_stride(slot), b = WordPredictor::by_register(slot, register_value);
    bool prefer = WordPredictor::prefers_register(slot);
    if ((prefer ? b : a) == value) [[likely]]
      ++word_run_;
    else
      prefer = miss(slot, register_value, value, prefer, prefer ? a : b);
    WordPredictor::learn(slot, register_value, value, prefer);
  }

  // Code 0: the other prediction was right. Else 1 + 8 * (relative to the register's last value) + bytes - 1, and the
  // zigzag difference in so many bytes. Returns which prediction the slot uses from now on.
  bool miss(const WordPredictor::Slot& slot, uint64_t register_value, uint64_t value, bool prefer, uint64_t other) {
    word_runs_.varint(word_run_);
    word_run_ = 0;
    if (other == value) {
      word_codes_.byte(0);
      return !prefer;
    }
    const uint64_t from_last = zigzag(static_cast<int64_t>(value - slot.last));
    const uint64_t from_register = zigzag(static_cast<int64_t>(value - register_value));
    const bool use_register = from_register < from_last;
    const uint64_t residue = use_register ? from_register : from_last;
    const auto bytes = static_cast<uint32_t>(std::max(1, (static_cast<int>(std::bit_width(residue)) + 7) / 8));
    word_codes_.byte(static_cast<uint8_t>(1 + 8 * use_register + bytes - 1));
    word_residues_.low_bytes(residue, bytes);
    return prefer;
  }

  // Items since the last event, the event, its payload.
  const uint64_t* event(const uint64_t* at) {
    ++event_count_;
    const uint64_t payload = *at >> 32;
    events_.varint(items_since_event_);
    events_.varint(static_cast<uint32_t>(*at));
    events_.varint(payload);
    for (uint64_t k = 0; k < payload; ++k) events_.varint(at[1 + k]);
    items_since_event_ = 0;
    return at + 1 + payload;
  }

  const ThreadPart& part_;
  const PathShapes& shapes_;
  PathPredictor paths_;
  WordPredictor words_;
  uint64_t path_count_ = 0, event_count_ = 0, items_since_event_ = 0, path_run_ = 0, word_run_ = 0;
  int64_t last_miss_ = 0;
  ByteWriter path_runs_, path_codes_, path_ids_, word_runs_, word_codes_, word_residues_, events_;
};

}  // namespace

Bytes encode_chunk(const Chunk& chunk, const ShapesOf& shapes) {
  ByteWriter out;
  out.varint(chunk.threads.size());
  for (const ThreadPart& part : chunk.threads) {
    const PathShapes s = shapes(part.process);
    PartEncoder(part, s).write(out);
  }
  out.varint(chunk.turns.size());
  for (const Turn& turn : chunk.turns) {
    out.varint(turn.part);
    out.varint(turn.items);
  }
  return out.take();
}

}  // namespace simrun::traces
