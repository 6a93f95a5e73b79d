#include "traces/chunk_codec.h"
#include "traces/prediction.h"

namespace simrun::traces {

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw FormatError(what);
}

constexpr uint64_t kNoRun = ~uint64_t{0};

// The rest of a column of runs: how many right predictions come before the next wrong one. Behind the last, all are right.
uint64_t next_run(ByteReader& runs) { return runs.empty() ? kNoRun : runs.varint(); }

class PartDecoder {
 public:
  PartDecoder(ByteReader& from, const ShapesOf& shapes)
      : thread_(static_cast<uint32_t>(from.varint_up_to(kMaxThreadsInTrace, "the number of a thread"))),
        process_(static_cast<uint32_t>(from.varint_up_to(kMaxProcesses, "the number of a process"))),
        shapes_(shapes(process_)) {
    part_.thread = thread_;
    part_.process = process_;
    part_.tid = static_cast<uint32_t>(from.varint_up_to(~uint32_t{0}, "a thread id"));
    part_.fs = from.varint();
    part_.gs = from.varint();
    part_.first_instruction = from.varint();
    path_count_ = from.varint_up_to(kMaxChunkWords, "number of paths");
    event_count_ = from.varint_up_to(kMaxChunkWords, "number of events");
    word_count_ = from.varint_up_to(kMaxChunkWords, "number of words");
    known_paths_ = static_cast<uint32_t>(from.varint_up_to(shapes_.path_count, "number of known paths"));
    known_slots_ = static_cast<uint32_t>(from.varint_up_to(shapes_.slot_count, "number of known address words"));
    for (ByteReader* column : {&path_runs_, &path_codes_, &path_ids_, &word_runs_, &word_codes_, &word_residues_,
                               &events_})
      *column = from.column();
    require(path_count_ + event_count_ <= word_count_, "more items than words");
    part_.items = path_count_ + event_count_;
  }

  uint64_t words() const { return word_count_; }

  ThreadPart decode() {
    PathPredictor paths(known_paths_);
    WordPredictor words(known_slots_);
    part_.words.resize(word_count_);
    at_ = part_.words.data();
    end_ = at_ + word_count_;
    path_run_ = next_run(path_runs_);
    word_run_ = next_run(word_runs_);
    uint64_t left = path_count_;
    for (uint64_t k = 0; k < event_count_; ++k) {
      const uint64_t before = events_.varint_up_to(left, "paths before an event");
      for (uint64_t i = 0; i < before; ++i) path(paths, words);
      left -= before;
      event();
    }
    for (; left != 0; --left) path(paths, words);
    require(at_ == end_, "fewer words than announced");
    for (const ByteReader* column : {&path_codes_, &path_ids_, &word_codes_, &word_residues_, &events_})
      require(column->empty(), "a column is longer than what it describes");
    return std::move(part_);
  }

 private:
  void path(PathPredictor& paths, WordPredictor& words) {
    uint32_t id = paths.first();
    if (path_run_ == 0) [[unlikely]] {
      id = missed_path(paths);
      path_run_ = next_run(path_runs_);
    } else {
      --path_run_;
    }
    require(id >= kFirstPath && id < known_paths_, "a path that does not exist");
    paths.learn(id);
    const PathShape shape = shapes_.paths[id];
    require(static_cast<uint64_t>(end_ - at_) > shape.words, "more words than announced");
    *at_++ = id;
    part_.instructions += shape.instructions;
    require(shape.first_slot + shape.words <= known_slots_, "an address word that does not exist");
    for (uint32_t k = 0; k < shape.words; ++k) *at_++ = word(words, shape.first_slot + k);
  }

  uint32_t missed_path(const PathPredictor& paths) {
    if (path_codes_.byte() == 0) return paths.second();
    const auto id = static_cast<uint64_t>(last_miss_) + static_cast<uint64_t>(path_ids_.signed_varint());
    require(id < known_paths_, "a path that does not exist");
    last_miss_ = static_cast<int64_t>(id);
    return static_cast<uint32_t>(id);
  }

  uint64_t word(WordPredictor& words, uint32_t index) {
    WordPredictor::Slot& slot = words.slot(index);
    uint64_t& register_value = words.register_value(shapes_.registers[index]);
    bool prefer = WordPredictor::prefers_register(slot);
    uint64_t value =
        prefer ? WordPredictor::by_register(slot, register_value) : WordPredictor::by_stride(slot);
    if (word_run_ == 0) [[unlikely]] {
      value = missed_word(slot, register_value, prefer);
      word_run_ = next_run(word_runs_);
    } else {
      --word_run_;
    }
    WordPredictor::learn(slot, register_value, value, prefer);
    return value;
  }

  uint64_t missed_word(const WordPredictor::Slot& slot, uint64_t register_value, bool& prefer) {
    const uint8_t code = word_codes_.byte();
    require(code <= 16, "unknown code of a word");
    if (code == 0) {
      prefer = !prefer;
      return prefer ? WordPredictor::by_register(slot, register_value) : WordPredictor::by_stride(slot);
    }
    const uint64_t base = code > 8 ? register_value : slot.last;
    return base + static_cast<uint64_t>(unzigzag(word_residues_.low_bytes((code - 1u) % 8 + 1)));
  }

  void event() {
    const uint64_t id = events_.varint_up_to(kFirstPath - 1, "the number of an event");
    const uint64_t payload = events_.varint_up_to(kMaxChunkWords, "the size of an event");
    require(static_cast<uint64_t>(end_ - at_) > payload, "more words than announced");
    *at_++ = id | payload << 32;
    const uint64_t* const words = at_;
    for (uint64_t k = 0; k < payload; ++k) *at_++ = events_.varint();
    if (id == static_cast<uint32_t>(Event::kCut)) cut(words, payload);
  }

  // A superblock that a fault cut short: the instructions that retired, fewer than all.
  void cut(const uint64_t* words, uint64_t payload) {
    require(payload >= 3, "a cut of fewer than 3 words");
    require(words[0] >= kFirstPath && words[0] < known_paths_, "a cut of a path that does not exist");
    require(words[1] <= 0xffff, "instructions of a cut");
    part_.instructions += words[1];
  }

  uint32_t thread_, process_;
  PathShapes shapes_;
  ThreadPart part_;
  uint64_t path_count_, event_count_, word_count_;
  uint32_t known_paths_, known_slots_;
  uint64_t path_run_ = kNoRun, word_run_ = kNoRun;
  int64_t last_miss_ = 0;
  uint64_t* at_ = nullptr;
  uint64_t* end_ = nullptr;
  ByteReader path_runs_{{}}, path_codes_{{}}, path_ids_{{}}, word_runs_{{}}, word_codes_{{}}, word_residues_{{}},
      events_{{}};
};

void read_turns(ByteReader& from, Chunk& chunk) {
  const uint64_t turns = from.varint_up_to(kMaxChunkWords, "number of turns");
  std::vector<uint64_t> left;
  for (const ThreadPart& part : chunk.threads) left.push_back(part.items);
  for (uint64_t k = 0; k < turns; ++k) {
    const uint64_t part = from.varint();
    require(part < left.size(), "a turn of a thread that is not in the chunk");
    const uint64_t items = from.varint_up_to(left[part], "items of a turn");
    left[part] -= items;
    chunk.turns.push_back({static_cast<uint32_t>(part), static_cast<uint32_t>(items)});
  }
  for (uint64_t rest : left) require(rest == 0, "items that have no turn");
}

}  // namespace

Chunk decode_chunk(std::span<const uint8_t> bytes, const ShapesOf& shapes) {
  ByteReader from(bytes);
  Chunk chunk;
  const uint64_t parts = from.varint_up_to(kMaxThreadsInTrace, "number of threads");
  uint64_t words = 0;
  for (uint64_t k = 0; k < parts; ++k) {
    PartDecoder part(from, shapes);
    words += part.words();
    require(words <= kMaxChunkWords, "more words than a chunk may hold");
    chunk.threads.push_back(part.decode());
    chunk.instructions += chunk.threads.back().instructions;
  }
  read_turns(from, chunk);
  require(from.empty(), "bytes behind the end of the chunk");
  return chunk;
}

}  // namespace simrun::traces
